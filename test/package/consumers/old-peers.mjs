// Older versions of the optional packages: what they do, or the error that says what to install. Arguments: a name, and a server.
import { Buffer } from 'node:buffer'
import { createReceiver, memoryStore } from 'messaging-webhooks'
import { callback, deliver } from 'messaging-webhooks/testing'

const authKey = 'key-of-the-consumer'
const [name, url] = process.argv.slice(2)

function receiving(store) {
  const receiver = createReceiver({ credentials: { authKey }, store, spool: false, logger: false })
  receiver.on('message.delivered', ({ messageId }) => console.log(messageId))
  return receiver
}

async function runOn(store) {
  const receiver = receiving(store)
  await receiver.start()
  const body = Buffer.from(JSON.stringify({ ...callback.smsDelivery({ messageId: 'm-1' }), authKey }))
  console.log((await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })).status)
  await receiver.drain()
  await receiver.close()
}

const USES = {
  async supertest() {
    const receiver = receiving(memoryStore())
    const body = callback.smsDelivery({ messageId: 'm-1' })
    console.log((await deliver(receiver.middleware('status'), body, { authKey })).status)
    await receiver.drain()
    await receiver.close()
  },
  async fastify() {
    const { webhooks } = await import('messaging-webhooks/fastify')
    const { default: Fastify } = await import('fastify')
    const app = Fastify()
    const receiver = receiving(memoryStore())
    app.register(webhooks, { receiver, status: '/status' })
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    const body = JSON.stringify({ ...callback.smsDelivery({ messageId: 'm-1' }), authKey })
    const headers = { 'content-type': 'application/json' }
    for (const init of [{ method: 'POST', headers, body }, { method: 'DELETE' }])
      console.log((await fetch(`${address}/status`, init)).status)
    await receiver.drain()
    await app.close()
  },
  async 'fast-check'() {
    const { storeConformance } = await import('messaging-webhooks/store-conformance')
    const tests = []
    storeConformance({
      skip() {},
      test: (title, run) => title.startsWith('interleavings') && tests.push(run),
      makeStore: () => ({ store: memoryStore() }),
      capabilities: memoryStore().capabilities,
      leavesOut: ['retention'],
      interleavings: 10,
    })
    for (const run of tests) await run()
    console.log(tests.length)
  },
  async pg() {
    const { postgresStore } = await import('messaging-webhooks/postgres')
    await runOn(postgresStore({ connectionString: url }))
  },
  async mysql2() {
    const { mysqlStore } = await import('messaging-webhooks/mysql')
    await runOn(mysqlStore({ uri: url }))
  },
  async ioredis() {
    const { redisStore } = await import('messaging-webhooks/redis')
    const { default: Redis } = await import('ioredis')
    await runOn(redisStore({ client: new Redis(url, { lazyConnect: true }) }))
  },
  async redis() {
    const { redisStore } = await import('messaging-webhooks/redis')
    const { createClient } = await import('redis')
    redisStore({ client: createClient() })
  },
}

USES[name]().catch(({ code, message }) => console.log(`${code}: ${message}`))
