/** A server that ends a connection together with its first answer, as one that is killed may do. */
import net from 'node:net'
import { once } from 'node:events'
import { postgresStore } from 'messaging-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { hostOf } from '../../support/stores.ts'

function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const AUTHENTICATED = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const ENDED = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'))

test.each([
  ['one host', 1],
  ['several hosts', 2],
])('with %s, the store fails to open, and the process goes on', async (_, hosts) => {
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, ENDED])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  const all = Array.from({ length: hosts }, () => `127.0.0.1:${address.port}`).join(',')
  const store = postgresStore({ connectionString: `postgres://app:password@${all}/app?sslmode=disable` })
  await expect(store.open(hostOf())).rejects.toMatchObject({ code: 'store_failed' })
})
