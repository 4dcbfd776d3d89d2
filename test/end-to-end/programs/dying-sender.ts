/** A process that is killed while its send awaits its answer. */
import { createReceiver } from '../../../src/index.ts'
import { createClient } from '../../../src/client/index.ts'
import { storeOf, type StoreSpec } from '../../support/servers/store-spec.ts'

const spec = JSON.parse(process.argv[2] ?? '') as StoreSpec
const receiver = createReceiver({
  credentials: { authKey: 'auth-key-of-the-test', signingSecret: 'signing-secret-of-the-test' },
  store: await storeOf(spec),
  spool: false,
  logger: false,
})
await receiver.start()
const { send } = createClient({
  receiver,
  baseUrl: 'http://127.0.0.1:9/v1/messaging',
  project: 'My Shop',
  apiKey: 'api-key-of-the-test',
  logger: false,
  async fetch() {
    process.stdout.write('asked', () => process.kill(process.pid, 'SIGKILL'))
    return new Promise<Response>(() => {})
  },
})
await send({ to: '254711000001', message: 'Hello' })
