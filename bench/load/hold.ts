/** Connections of clients that are slow: all but the last bytes of a body are sent, and then nothing more. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { PATH } from './secrets.ts'

interface Held {
  release(): void
}

/** How long the bytes may take to get as far as the server lets them. */
const SENDING_MS = 3_000

export async function holdConnections(port: number, count: number, bodyBytes: number): Promise<Held> {
  const request = Buffer.concat([
    Buffer.from(`POST ${PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${bodyBytes}\r\n\r\n`),
    Buffer.alloc(bodyBytes - 1, 0x20),
  ])
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(request)
      return socket
    }),
  )
  await new Promise((resolve) => setTimeout(resolve, SENDING_MS))
  return {
    release: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}
