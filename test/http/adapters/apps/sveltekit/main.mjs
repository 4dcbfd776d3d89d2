import http from 'node:http'
import { handler } from './build/handler.js'

const server = http.createServer(handler).listen(0, '127.0.0.1', () => {
  console.log(`listening on ${server.address().port}`)
})
