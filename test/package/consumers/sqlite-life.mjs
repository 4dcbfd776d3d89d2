// Events on their way through the files of SQLite: spooled while the store is unavailable, stored, handled, and listed after a restart.
import { Buffer } from 'node:buffer'
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'

const authKey = 'key-of-the-consumer'

function receiving(store) {
  const receiver = createReceiver({ credentials: { authKey }, store, retry: { attempts: 1 }, logger: false })
  receiver.onError(({ code, cause }) => code === 'store_failed' && console.log(code, cause))
  receiver.on('message.delivered', () => {})
  receiver.on('message.failed', () => {
    throw new Error('a\u0000b')
  })
  return receiver
}

async function receive(receiver, status, key = authKey) {
  const body = Buffer.from(JSON.stringify({ ...callback.smsDelivery({ messageId: status, status }), authKey: key }))
  return (await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })).status
}

const store = sqliteStore('life.db')
let attempts = 0
const first = receiving({
  ...store,
  open: (host) => (attempts++ === 0 ? Promise.reject(new Error('Not yet.')) : store.open(host)),
})
await first.start()
const answers = [await receive(first, 'success', 'another-key'), await receive(first, 'success')]
console.log(...answers, await receive(first, 'network_failure'), (await first.stats()).spooled)
while ((await first.stats()).unsettled !== 0 || (await first.stats()).spooled > 0)
  await new Promise((resolve) => setTimeout(resolve, 50))
console.log((await first.health()).reasons.map(({ code }) => code).join())
await first.close()

const second = receiving(sqliteStore('life.db'))
await second.start()
const { items } = await second.events.list()
console.log(
  items
    .map(({ type, state }) => `${type} ${state}`)
    .toSorted()
    .join(),
)
console.log(JSON.stringify((await second.deadLetters.list()).items.map(({ error }) => error.split('\n')[0])))
console.log((await second.quarantine.list()).items.length)
await second.close()
