/** The inspector for servers that speak `Request` and `Response`. */
import { Refused, type Answer } from './answer.ts'
import { belowMount } from './node.ts'
import { MOST_BODY_BYTES, type Asked } from './request.ts'
import { redirectToSlash } from './server.ts'

export async function answerRequest(
  request: Request,
  { answerTo, mount }: { readonly answerTo: (asked: Asked) => Promise<Answer>; readonly mount: string },
): Promise<Response> {
  const { method, url, headers } = request
  const { pathname, searchParams } = new URL(url)
  const path = belowMount(pathname, mount)
  const made =
    path === ''
      ? redirectToSlash(pathname)
      : await answerTo({
          method,
          path,
          query: searchParams,
          headers,
          remoteAddress: undefined,
          original: request,
          text: async () => (request.body === null ? '' : textOf(request.body)),
        })
  const init = { status: made.status, headers: { ...made.headers } }
  if (method === 'HEAD' || made.status === 304) return new Response(null, init)
  if (made.stream !== undefined) return new Response(readable(made.stream), init)
  return new Response(typeof made.body === 'string' ? made.body : made.body && Uint8Array.from(made.body), init)
}

/** What nobody has read yet is at most one event: the next one has all that this one had. */
function readable(stream: NonNullable<Answer['stream']>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let stop = (): void => {}
  return new ReadableStream<Uint8Array>({
    start(controller) {
      let isOver = false
      const ended = stream({
        write(text) {
          if (isOver || (controller.desiredSize ?? 0) <= 0) return false
          controller.enqueue(encoder.encode(text))
          return true
        },
        end() {
          if (isOver) return
          isOver = true
          controller.close()
        },
      })
      stop = () => {
        isOver = true
        ended()
      }
    },
    cancel: () => stop(),
  })
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > MOST_BODY_BYTES) throw new Refused(413, 'body_too_large', 'The request is larger than 64 KiB.')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
