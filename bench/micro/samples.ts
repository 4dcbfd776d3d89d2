/** Distinct bodies and headers for the steps, so that no result comes from a cache of the previous call. */
import { signCallback } from 'messaging-webhooks/testing'
import { readSentBody, type ReadBody } from '../../src/verify/body.ts'
import { makeReports } from '../load/requests.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../load/secrets.ts'

const COUNT = 1_000

export interface SampleCallback {
  readonly bytes: Buffer
  readonly header: string
  readonly body: ReadBody
  readonly fields: Readonly<Record<string, unknown>>
}

/** Calls `use` with each sample in turn, repeatedly. */
export function eachInTurn<T>(use: (sample: SampleCallback) => T): () => T {
  const samples = makeReports({ count: COUNT }).map((report) => sampleOf({ ...report, authKey: AUTH_KEY }))
  let next = 0
  return () => {
    const sample = samples[next]
    next = (next + 1) % COUNT
    if (sample === undefined) throw new Error('There are no samples.')
    return use(sample)
  }
}

function sampleOf(report: Readonly<Record<string, unknown>>): SampleCallback {
  const text = JSON.stringify(report)
  const body = readBytes(Buffer.from(text))
  if (body.fields === undefined) throw new Error('A sample cannot be read.')
  return { bytes: body.bytes, header: signCallback(text, SIGNING_SECRET), body, fields: body.fields }
}

export function readBytes(bytes: Buffer): ReadBody {
  return readSentBody({ captured: { bytes, decoded: false }, contentEncoding: undefined })
}
