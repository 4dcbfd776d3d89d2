/** Many requests over few connections, each written before the last is answered, so that a flood takes only seconds. */
import net from 'node:net'

const CONNECTIONS = 4
const WRITTEN_AT_ONCE = 200

/** POSTs every body and counts the answers by status. Each connection uses one of the loopback addresses in `from`. */
export async function postAll(
  url: string,
  bodies: readonly (readonly [body: string, headers: Readonly<Record<string, string>>])[],
  from: readonly string[] = [],
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const { hostname, port } = new URL(url)
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, nth) => {
      const localAddress = from[nth % Math.max(1, from.length)]
      const socket = net.connect({
        port: Number(port),
        host: hostname,
        ...(localAddress === undefined ? {} : { localAddress }),
      })
      const own = bodies.filter((_body, index) => index % CONNECTIONS === nth)
      for (let at = 0; at < own.length; at += WRITTEN_AT_ONCE) {
        const batch = own.slice(at, at + WRITTEN_AT_ONCE)
        const answered = statuses(socket, batch.length)
        socket.write(batch.map(([body, headers]) => requestText(body, headers)).join(''))
        for (const status of await answered) counts[status] = (counts[status] ?? 0) + 1
      }
      socket.destroy()
    }),
  )
  return counts
}

function requestText(body: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${lines.join('')}\r\n${body}`
}

/** The statuses of the next answers. */
function statuses(socket: net.Socket, count: number): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    let text = ''
    const found: string[] = []
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      let end = 0
      for (const match of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        found.push(match[1] ?? '')
        end = match.index + match[0].length
      }
      text = text.slice(end)
      if (found.length < count) return
      socket.off('data', onData).off('close', onClose)
      resolve(found)
    }
    const onClose = (): void => reject(new Error(`The server closed the connection after ${found.length} answers.`))
    socket.on('data', onData).on('close', onClose)
  })
}
