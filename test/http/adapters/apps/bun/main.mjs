import { answer } from './receiver.mjs'

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) => answer(request),
})
console.log(`listening on ${server.port}`)
