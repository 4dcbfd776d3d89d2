/** An Express app with `express.raw`, as the documentation of most libraries here recommends. */
import { createServer } from 'node:http'
import express from 'express'
import { PATH } from '../load/secrets.ts'
import { answersAtOnce, createTally, type Running } from './contender.ts'

/** `accept` throws or returns undefined for a request that is not authentic. */
export function expressWithRawBody(
  accept: (body: Buffer, headers: Readonly<Record<string, string>>) => unknown,
): Running {
  const tally = createTally()
  const app = express()
  app.post(PATH, express.raw({ type: 'application/json' }), (request, response) => {
    const body: unknown = request.body
    let accepted: unknown
    try {
      // The libraries' types require one string per header, and their documentation passes the headers on like this.
      if (Buffer.isBuffer(body)) accepted = accept(body, request.headers as Record<string, string>)
    } catch {
      accepted = undefined
    }
    if (accepted !== undefined) tally.count()
    response.status(accepted === undefined ? 400 : 204).end()
  })
  return answersAtOnce(createServer(app), tally)
}
