/** A server of this process is stopped; test/end-to-end/stopped.full.test.ts does it to processes under load. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { stopServer } from '../../src/http/stop-server.ts'

async function serving() {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (_request, response) => response.end('here'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // What `address()` gives of a server that listens on TCP.
  const { port } = server.address() as AddressInfo
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => {
    agent.destroy()
    server.closeAllConnections()
  })
  const ask = async (given: http.Agent | false = agent): Promise<string | undefined> => {
    const request = http.get({ host: '127.0.0.1', port, agent: given })
    // What `once` resolves with is the event's one argument.
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    await once(response, 'end')
    return response.headers.connection
  }
  return { server, ask, closed: once(server, 'close') }
}

test('a connection that is kept alive gets one more answer, which says that it is the last', async () => {
  const { server, ask, closed } = await serving()
  expect(await ask()).toBe('keep-alive')
  stopServer(server, systemClock(), { listenMs: 0, idleMs: 60_000 })
  await expect.poll(() => server.listening).toBe(false)
  expect(await ask()).toBe('close')
  await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  server.close()
  await closed
})

test('a connection that stays idle is closed', async () => {
  const { server, ask, closed } = await serving()
  await ask()
  stopServer(server, systemClock(), { listenMs: 0, idleMs: 50 })
  await closed
  await expect(ask(false)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('new connections are taken while it still listens', async () => {
  const { server, ask, closed } = await serving()
  stopServer(server, systemClock(), { listenMs: 60_000, idleMs: 0 })
  expect(await ask(false)).toBe('close')
  server.close()
  await closed
})
