/** An Express app that verifies a report by hand and answers once it is stored: the half that all queues here share. */
import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { PATH } from '../load/secrets.ts'
import { verifyByHand, type VerifiedReport } from './by-hand.ts'

/** Stores a job for the queue: its report. */
type Keep = (report: VerifiedReport, body: Buffer) => Promise<unknown> | undefined

/** A slow disk needs time for a whole round. */
const SETTLE_MS = 300_000
const LOOK_EVERY_MS = 25

export function expressKeeping(keep: Keep): Server {
  const app = express()
  app.post(PATH, express.raw({ type: 'application/json' }), async (request, response) => {
    const body: unknown = request.body
    const report = Buffer.isBuffer(body) ? verifyByHand(body, request.headers['x-service-signature']) : undefined
    if (!Buffer.isBuffer(body) || report === undefined) {
      response.status(401).end()
      return
    }
    await keep(report, body)
    response.status(204).end()
  })
  return createServer(app)
}

/** Polls until nothing is left. Polls rarely, because each poll counts against the measured queue. */
export async function untilNone(left: () => Promise<number> | number): Promise<void> {
  const untilMs = performance.now() + SETTLE_MS
  while ((await left()) > 0) {
    if (performance.now() > untilMs) throw new Error('Some jobs did not complete in time.')
    await sleep(LOOK_EVERY_MS)
  }
}
