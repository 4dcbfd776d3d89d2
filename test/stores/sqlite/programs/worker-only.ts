/** A process without a server that dispatches what others accept into the file. Arguments: the file, and `close` to end by itself. */
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'

const [, , path = '', how] = process.argv
const receiver = createReceiver({ credentials: { authKey: 'key-of-worker' }, store: sqliteStore(path), logger: false })
receiver.on('message.*', ({ messageId }) => console.log(`handled ${messageId}`))
receiver.closeOnSignal(['SIGTERM', 'SIGINT'])
await receiver.start()
console.log('started')
if (how === 'close') await receiver.close()
