/** An Express app with `express.raw`, which is what the documentation of most of the libraries here asks for. */
import { createServer } from 'node:http'
import express from 'express'
import { PATH } from '../load/secrets.ts'
import { answersAtOnce, createTally, type Running } from './contender.ts'

/** `accept` throws, or returns undefined, for what is not authentic. */
export function expressWithRawBody(
  accept: (body: Buffer, headers: Readonly<Record<string, string>>) => unknown,
): Running {
  const tally = createTally()
  const app = express()
  app.post(PATH, express.raw({ type: 'application/json' }), (request, response) => {
    const body: unknown = request.body
    let accepted: unknown
    try {
      // Their types want one text a header, as their documentation hands the headers over.
      if (Buffer.isBuffer(body)) accepted = accept(body, request.headers as Record<string, string>)
    } catch {
      accepted = undefined
    }
    if (accepted !== undefined) tally.count()
    response.status(accepted === undefined ? 400 : 204).end()
  })
  return answersAtOnce(createServer(app), tally)
}
