/**
 * Uses the folder of its first argument in every way that a spool is used, once it is asked to begin, and prints the
 * result for each record. Its disk may fail at any call: it continues as a receiver would, and ends by itself.
 */
import { stat } from 'node:fs/promises'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import type { NewEvent } from '../../../../src/messages/event-record.ts'
import { openSpool, type Spool } from '../../../../src/inbox/spool/spool.ts'
import { sample } from '../../../../src/store-conformance/samples.ts'

const [folder = ''] = process.argv.slice(2)
const TRIES = 4
let count = 0

/** `what` is a record's result, or the source of an error; `names` are records, or the error. */
function say(what: string, ...names: readonly string[]): void {
  writeSync(1, `${[what, ...names].join(' ')}\n`)
}

function sayError(what: string, error: unknown): void {
  const { code = '-', message = '', cause } = error as Partial<MessagingWebhooksError>
  say(what, code, message.replaceAll('\n', ' '), String(cause).replaceAll('\n', ' '))
}

async function tried<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
  for (let attempt = 0; attempt < TRIES; attempt += 1)
    try {
      return await work()
    } catch (error) {
      sayError(what, error)
    }
  return undefined
}

async function append(spool: Spool, bytes: number, records = 1): Promise<void> {
  const names = Array.from({ length: records }, () => `new${String((count += 1)).padStart(3, '0')}`)
  const batch = names.map((name) => sample({ message: name, name, raw: Buffer.alloc(bytes, name) }))
  try {
    await spool.append(batch)
    say('kept', ...names)
  } catch (error) {
    sayError('append', error)
    say('refused', ...names)
  }
}

function takeInto(batches: number): (events: readonly NewEvent[]) => Promise<void> {
  let left = batches
  return async (events) => {
    if (left === 0) throw new Error('The store is unavailable.')
    left -= 1
    say('accepted', ...events.map(({ record }) => record.report?.status ?? ''))
  }
}

async function use(spool: Spool): Promise<void> {
  await append(spool, 100)
  await append(spool, 3_000, 2)
  await Promise.all([100, 9_000, 30_000, 10].map((bytes) => append(spool, bytes)))
  await tried('drain', () => spool.empty(takeInto(1)))
  await append(spool, 500)
  await tried('drain', () => spool.empty(takeInto(Infinity)))
  for (let appended = 0; appended < 3; appended += 1) await append(spool, 15_000)
}

// Starts the thread that makes the calls.
await stat(folder)
say('ready')
await once(process.stdin, 'data')
process.stdin.destroy()
const spool = await tried('open', () =>
  openSpool({
    ...{ folder, reserveBytes: 65_536, segmentBytes: 20_000 },
    report: (error) => sayError('report', error),
  }),
)
if (spool !== undefined) {
  say('opened', String(spool.size))
  await use(spool)
  await tried('close', () => spool.close())
}
say('done')
