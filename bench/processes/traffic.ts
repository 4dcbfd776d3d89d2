/** The bytes that this process sends and receives on the sockets that it connects. */
import { Socket } from 'node:net'

/**
 * Counts from now on, both directions, without the headers of TCP and IP. All clients of databases connect by this one method;
 * the counters of a network interface would include the traffic of other programs.
 */
export function countTraffic(): () => number {
  const sockets = new Set<Socket>()
  Socket.prototype.connect = new Proxy(Socket.prototype.connect, {
    apply(connect, socket: Socket, args) {
      sockets.add(socket)
      // `connect` returns its socket.
      return Reflect.apply(connect, socket, args) as Socket
    },
  })
  return () => [...sockets].reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0)
}
