// The same with require.
const { createReceiver } = require('messaging-webhooks')
const { mysqlStore } = require('messaging-webhooks/mysql')

const store = mysqlStore({ uri: 'mysql://127.0.0.1/unused' })
const receiver = createReceiver({ credentials: { authKey: 'key-of-the-consumer' }, store, logger: false })
receiver
  .start()
  .then(
    () => 'started',
    (error) => `${error.code} ${/npm install \w+/.exec(error.message)?.[0]}`,
  )
  .then(async (started) => {
    console.log(store.capabilities.name, started)
    await receiver.close()
  })
