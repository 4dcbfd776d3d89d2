/** The least that an Express app can do with a POST: what all others are measured against. */
import { createServer } from 'node:http'
import express from 'express'
import type { Contender } from './contender.ts'

export function emptyExpressRoute(): Contender {
  let answered = 0
  const app = express()
  app.post('/', (_request, response) => {
    answered += 1
    response.status(204).end()
  })
  return {
    name: 'an empty Express route',
    server: createServer(app),
    async verify(sent) {
      if (answered !== sent) throw new Error(`The empty route answered ${answered} of ${sent} requests.`)
    },
    async close() {},
  }
}
