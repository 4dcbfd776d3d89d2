/** Unused ports, for servers that start later and for clients that must fail to connect. */
import net from 'node:net'

/** Below the range from which systems assign ports to connections: no other test gets it by chance. */
const LEAST = 15_000
const MOST = 30_000

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

export async function freePort(): Promise<number> {
  for (;;) {
    const port = LEAST + Math.floor(Math.random() * (MOST - LEAST))
    if (await isFree(port)) return port
  }
}
