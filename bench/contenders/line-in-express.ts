/** @line/bot-sdk's `middleware`, as its webhook guide uses it. */
import { createServer } from 'node:http'
import { middleware } from '@line/bot-sdk'
import express from 'express'
import { PATH, SIGNING_SECRET } from '../load/secrets.ts'
import { answersAtOnce, createTally, type Running } from './contender.ts'

export function start(): Running {
  const tally = createTally()
  const app = express()
  app.post(PATH, middleware({ channelSecret: SIGNING_SECRET }), (_request, response) => {
    tally.count()
    response.status(204).end()
  })
  return answersAtOnce(createServer(app), tally)
}
