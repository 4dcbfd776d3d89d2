// The entry of a store whose package is not installed: importing it works, opening it says what to install.
import { createReceiver } from 'messaging-webhooks'

const name = process.argv[2]
const options = {
  postgres: { connectionString: 'postgres://127.0.0.1/unused' },
  mysql: { uri: 'mysql://127.0.0.1/unused' },
}
const { [`${name}Store`]: makeStore } = await import(`messaging-webhooks/${name}`)
const store = makeStore(options[name])
const receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' }, store, logger: false })
const started = await receiver.start().then(
  () => 'started',
  (error) => `${error.code} ${/npm install \w+/.exec(error.message)?.[0]}`,
)
console.log(store.capabilities.name, started)
await receiver.close()
