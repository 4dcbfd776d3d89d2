/** The other end, a process of its own: sends every request once over keep-alive connections and looks at the answers. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { signedRequests } from './callbacks.ts'

/** What the benchmark asks for: new callbacks, or sending those that were made last. */
export type Ask = { readonly make: number } | { readonly sendTo: number; readonly connections: number }
export type Told = { readonly made: number } | { readonly seconds: number } | { readonly failed: string }

const RIGHT_ANSWER = 'HTTP/1.1 204 '

let requests: readonly Buffer[] = []

process.on('message', (ask: Ask) => {
  answer(ask).then(tell, (error: unknown) => tell({ failed: error instanceof Error ? error.message : String(error) }))
})

function tell(told: Told): void {
  process.send?.(told)
}

async function answer(ask: Ask): Promise<Told> {
  if ('make' in ask) {
    requests = signedRequests(ask.make)
    return { made: requests.length }
  }
  const sockets = await Promise.all(Array.from({ length: ask.connections }, () => openConnection(ask.sendTo)))
  let next = 0
  const start = performance.now()
  await Promise.all(sockets.map((socket) => sendWhileAny(socket, () => requests[next++])))
  const seconds = (performance.now() - start) / 1_000
  for (const socket of sockets) socket.destroy()
  return { seconds }
}

async function openConnection(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** One request after the other on one connection. Rejects at the first answer that is not the right one. */
function sendWhileAny(socket: Socket, take: () => Buffer | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = ''
    const sendNext = (): void => {
      const request = take()
      if (request === undefined) resolve()
      else socket.write(request)
    }
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      if (!received.startsWith(RIGHT_ANSWER)) {
        if (received.length >= RIGHT_ANSWER.length) reject(new Error(`Wrong answer: ${received}`))
      } else if (received.endsWith('\r\n\r\n')) {
        // A 204 has no body: the empty line is its end.
        received = ''
        sendNext()
      }
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('The server closed the connection.')))
    sendNext()
  })
}
