/** Reads the small body of a request other than a callback as text. */
import type { IncomingMessage } from 'node:http'

/** Undefined if the body exceeds `mostBytes`. A parser of the app may have read it before. */
export async function readNodeText(request: IncomingMessage, mostBytes: number): Promise<string | undefined> {
  if ('body' in request && request.body !== undefined && request.readableEnded) {
    const { body } = request
    if (typeof body === 'string') return body
    return body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : JSON.stringify(body)
  }
  return readText(request as AsyncIterable<Buffer>, mostBytes)
}

/** Undefined if the body exceeds `mostBytes`. */
export async function readText(body: AsyncIterable<Uint8Array>, mostBytes: number): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > mostBytes) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
