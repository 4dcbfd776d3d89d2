/** One keep-alive connection: a request, its answer, the next request. Parses only as much of an answer as it needs. */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface Connection {
  /** Calls `answered` with the status of the answer; `answered` may send the next request at once. */
  send(request: Buffer, answered: (status: number) => void): void
  close(): void
}

const HEAD_END = '\r\n\r\n'
const CHUNKED_END = '0\r\n\r\n'

/** Connections to several servers; each request goes to a random one. Calls `failed` if a connection breaks. */
export async function openSpread(ports: readonly number[], failed: (error: Error) => void): Promise<Connection> {
  const open = await Promise.all(ports.map((port) => openConnection(port, failed)))
  return {
    send(request, answered) {
      open[Math.floor(Math.random() * open.length)]?.send(request, answered)
    },
    close() {
      for (const connection of open) connection.close()
    },
  }
}

/** Calls `failed` if the connection breaks, unless this side closed it. */
async function openConnection(port: number, failed: (error: Error) => void): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let received = ''
  let onAnswer: ((status: number) => void) | undefined
  let isIdle = true
  let closed = false
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    if (!isWhole(received)) return
    const status = Number(received.slice(9, 12))
    received = ''
    isIdle = true
    onAnswer?.(status)
  })
  socket.on('error', failed)
  socket.on('close', () => {
    if (!closed)
      failed(new Error(`The server closed a connection that ${isIdle ? 'was idle' : 'waited for an answer'}.`))
  })
  return {
    send(request, answered) {
      onAnswer = answered
      isIdle = false
      socket.write(request)
    },
    close() {
      closed = true
      socket.destroy()
    },
  }
}

function isWhole(answer: string): boolean {
  const headEnd = answer.indexOf(HEAD_END)
  if (headEnd === -1) return false
  const bodyStart = headEnd + HEAD_END.length
  // A 204 has neither header and ends with its head.
  const announced = /\r\ncontent-length: *(\d+)/i.exec(answer)?.[1]
  if (announced !== undefined) return answer.length >= bodyStart + Number(announced)
  return /\r\ntransfer-encoding: *chunked/i.test(answer) ? answer.endsWith(CHUNKED_END) : true
}
