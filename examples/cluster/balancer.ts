/** A load balancer as small as can be: a callback goes to any instance, and to another one where that is gone. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const TRIES = 100

/** `urls` are those of the instances that run now. */
export async function startBalancer(urls: () => readonly string[]) {
  async function passOn(request: IncomingMessage): Promise<number> {
    const body = await buffer(request) // byte for byte: it is signed
    const headers = { 'x-service-signature': String(request.headers['x-service-signature']) }
    for (let left = TRIES; left > 0; left -= 1) {
      const url = urls()[Math.floor(Math.random() * urls().length)] ?? ''
      const answer = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined)
      if (answer !== undefined) return answer.status
      await sleep(20)
    }
    return 502
  }

  const server = createServer((request, response) => {
    passOn(request).then(
      (status) => response.writeHead(status).end(),
      () => response.destroy(),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, close: () => void server.close() }
}
