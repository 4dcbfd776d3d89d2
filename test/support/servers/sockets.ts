/** A server of raw connections on loopback, for proxies and for servers that speak no proper HTTP. */
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'

interface SocketServer {
  readonly port: number
  /** Ends all open connections, in both directions of a proxy. */
  cut(): void
  close(): Promise<void>
}

/** `connect` opens the other side of a connection, for a proxy. */
type Accept = (socket: net.Socket, connect: (port: number, host?: string) => net.Socket) => void

export async function startSocketServer(accept: Accept): Promise<SocketServer> {
  const sockets = new Set<net.Socket>()
  function track(socket: net.Socket): net.Socket {
    sockets.add(socket)
    return socket
      .setNoDelay(true)
      .on('error', () => {})
      .on('close', () => void sockets.delete(socket))
  }
  function cut(): void {
    for (const socket of sockets) socket.destroy()
  }
  const server = net.createServer((socket) =>
    accept(track(socket), (port, host = '127.0.0.1') => track(net.connect(port, host))),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    cut,
    async close() {
      const closed = once(server, 'close')
      server.close()
      cut()
      await closed
    },
  }
}
