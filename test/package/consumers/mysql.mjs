// The entry of the MySQL store, where the package `mysql2` is not installed: opening it says what to install.
import { createReceiver } from 'messaging-webhooks'
import { mysqlStore } from 'messaging-webhooks/mysql'

const store = mysqlStore({ uri: 'mysql://127.0.0.1/unused' })
const receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' }, store, logger: false })
const started = await receiver.start().then(
  () => 'started',
  (error) => `${error.code} ${/npm install \w+/.exec(error.message)?.[0]}`,
)
console.log(store.capabilities.name, started)
await receiver.close()
