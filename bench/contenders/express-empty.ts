/** The minimum of an Express app for a POST: it does not even read the body. */
import { createServer } from 'node:http'
import express from 'express'
import { PATH } from '../load/secrets.ts'
import { answersAtOnce, createTally, type Running } from './contender.ts'

export function start(): Running {
  const tally = createTally()
  const app = express()
  app.post(PATH, (_request, response) => {
    tally.count()
    response.status(204).end()
  })
  return answersAtOnce(createServer(app), tally)
}
