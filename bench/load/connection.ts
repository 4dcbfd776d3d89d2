/** One keep-alive connection: a request, its answer, the next request. Reads no more of an answer than it must. */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface Connection {
  /** Resolves to the status of the answer by calling `answered`, which may send the next at once. */
  send(request: Buffer, answered: (status: number) => void): void
  close(): void
}

const HEAD_END = '\r\n\r\n'
const CHUNKED_END = '0\r\n\r\n'

/** To several servers: each request goes to one of them, at random. `failed` hears of a connection that breaks. */
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

/** `failed` hears of a connection that breaks, unless it was closed here. */
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
  // A 204 has neither, and ends with its head.
  const announced = /\r\ncontent-length: *(\d+)/i.exec(answer)?.[1]
  if (announced !== undefined) return answer.length >= bodyStart + Number(announced)
  return /\r\ntransfer-encoding: *chunked/i.test(answer) ? answer.endsWith(CHUNKED_END) : true
}
