import { answer } from './receiver.mjs'

Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: ({ port }) => console.log(`listening on ${port}`) }, (request) =>
  answer(request),
)
