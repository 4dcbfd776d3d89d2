/** Ports that nobody listens on, for servers to come, and for those who knock in vain. */
import net from 'node:net'

/** Below the range from which systems take ports for connections: no other test gets it by chance. */
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
