/** Requests that `fetch` does not send: repeated headers, raw bytes, and half a request. */
import { createHmac } from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import { onTestFinished } from 'vitest'
import { AUTH_KEY, SIGNING_SECRET } from './receiving.ts'

type Body = string | Uint8Array

interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

type HeaderFields = Readonly<Record<string, string | readonly string[]>>

/** Seconds, as the header has them. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

/** The digest over this text of `t` and these bytes, computed independently of the package. */
export function digestOf(t: string | number, body: Body, secret = SIGNING_SECRET): string {
  return createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
}

/** A valid signature header. */
export function signatureOf(body: Body, { secret = SIGNING_SECRET, t = nowSeconds() } = {}): string {
  return `t=${t},v1=${digestOf(t, body, secret)}`
}

/** A delivery report's body without an authKey. */
export function reportText(fields: object = {}): string {
  return JSON.stringify({ project: 'My Shop', messageId: 'm-1', channel: 'sms', status: 'success', ...fields })
}

/** A delivery report's body with the right authKey. */
export function keyedText(fields: object = {}): string {
  return reportText({ ...fields, authKey: AUTH_KEY })
}

/** Sends one request on a separate connection; an array of values becomes as many headers. */
export function request(
  url: string,
  { method = 'POST', headers = {}, body }: { method?: string; headers?: HeaderFields; body?: Body | undefined } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const fields: http.OutgoingHttpHeaders = { 'content-type': 'application/json' }
    for (const [name, value] of Object.entries(headers)) fields[name] = typeof value === 'string' ? value : [...value]
    const sent = http.request(url, { method, agent: false, headers: fields }, (response) => {
      response.setEncoding('utf8')
      let text = ''
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** POSTs a body with a signature header, by default a valid one. */
export async function postSigned(url: string, body: Body, headers: HeaderFields = {}): Promise<number> {
  const { status } = await request(url, { body, headers: { 'x-service-signature': signatureOf(body), ...headers } })
  return status
}

/** POSTs a body without a signature header. */
export async function postUnsigned(url: string, body: Body, headers: HeaderFields = {}): Promise<number> {
  const { status } = await request(url, { body, headers })
  return status
}

/** A connection that writes raw bytes. */
interface Wire {
  readonly socket: net.Socket
  write(...parts: readonly Body[]): void
  /** Resolves to the statuses of the answers, once there are this many or the other side has closed; 100 does not count. */
  answers(count?: number): Promise<readonly number[]>
  /** Everything received, once the other side has closed. */
  readonly closed: Promise<string>
}

export async function connect(url: string): Promise<Wire> {
  const { port, hostname } = new URL(url)
  const socket = net.connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  let text = ''
  let changed = (): void => {}
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
    changed()
  })
  socket.on('error', () => {})
  const closed = new Promise<string>((resolve) => {
    socket.once('end', () => resolve(text))
    socket.once('close', () => resolve(text))
  })
  let isClosed = false
  void closed.then(() => {
    isClosed = true
    changed()
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  return {
    socket,
    closed,
    write(...parts) {
      for (const part of parts) socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part)
    },
    answers(count = 1) {
      return new Promise((resolve) => {
        changed = () => {
          const found = statusesIn(text)
          if (found.length >= count || isClosed) resolve(found)
        }
        changed()
      })
    },
  }
}

function statusesIn(text: string): readonly number[] {
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return statuses.filter((status) => status >= 200)
}

/** Writes these bytes on a separate connection; returns the status of the first answer, if there is one. */
export async function writeRaw(url: string, ...parts: readonly Body[]): Promise<number | undefined> {
  const wire = await connect(url)
  wire.write(...parts)
  const [status] = await wire.answers()
  return status
}

/** The head of a POST, line by line; the caller sets the body's length. */
export function head(...lines: readonly string[]): string {
  return ['POST / HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n')
}

/** A complete POST with a valid signature, which can be written repeatedly. */
export function signedBytes(body: string): string {
  return head(`X-Service-Signature: ${signatureOf(body)}`, `Content-Length: ${body.length}`) + body
}

/** A body in chunks of this size, including the last chunk. */
export function chunked(body: string, size = body.length): string {
  let text = ''
  for (let from = 0; from < body.length; from += size) {
    const part = body.slice(from, from + size)
    text += `${part.length.toString(16)}\r\n${part}\r\n`
  }
  return `${text}0\r\n\r\n`
}
