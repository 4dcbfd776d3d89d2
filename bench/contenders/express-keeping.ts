/** An Express app that proves a report by hand and answers when something keeps it: the half that all queues here share. */
import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { PATH } from '../load/secrets.ts'
import { verifyByHand, type VerifiedReport } from './by-hand.ts'

/** What a queue has for a job: its report. */
type Keep = (report: VerifiedReport, body: Buffer) => Promise<unknown> | undefined

/** A disk takes its time with a whole round. */
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

/** Looks until nothing is left. Seldom, for every look is on the account of the queue that is measured. */
export async function untilNone(left: () => Promise<number> | number): Promise<void> {
  const untilMs = performance.now() + SETTLE_MS
  while ((await left()) > 0) {
    if (performance.now() > untilMs) throw new Error('Something is left undone.')
    await sleep(LOOK_EVERY_MS)
  }
}
