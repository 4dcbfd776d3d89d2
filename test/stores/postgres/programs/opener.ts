/** Opens a store when it is told to, and says what became of that. */
import { MessagingWebhooksError } from '../../../../src/index.ts'
import { postgresStore } from '../../../../src/stores/postgres/store.ts'

const [connectionString = '', schema = ''] = process.argv.slice(2)
const store = postgresStore({ connectionString, schema, maxConnections: 2 })
process.once('message', () => {
  void (async () => {
    try {
      const open = await store.open({ onWork() {}, claims: false })
      await open.close()
      process.send?.('open')
    } catch (error) {
      process.send?.(error instanceof MessagingWebhooksError ? error.message : 'failed')
    }
    process.disconnect()
  })()
})
process.send?.('ready')
