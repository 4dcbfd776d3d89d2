/** Compares any sequence of appends, drains, crashes and corruption with a plain list. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crashed, emptyAll, event, nameOf, segmentFiles, spooling } from './spooling.ts'

type Step =
  | { readonly kind: 'append'; readonly sizes: readonly number[] }
  | { readonly kind: 'appendTogether'; readonly sizes: readonly number[] }
  | { readonly kind: 'drain' }
  /** The store becomes unavailable after this many batches. */
  | { readonly kind: 'drainInPart'; readonly batches: number }
  | { readonly kind: 'restart' }
  /** The last file ends with this many bytes of a record that was being written. */
  | { readonly kind: 'crash'; readonly torn: number }
  | { readonly kind: 'damage'; readonly file: number; readonly at: number }

const size = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 3_000 }), fc.constant(70_000))
const sizes = fc.array(size, { minLength: 1, maxLength: 12 })
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('append' as const), sizes }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('appendTogether' as const), sizes }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'drain' } as const) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('drainInPart' as const), batches: fc.nat({ max: 3 }) }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'restart' } as const) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('crash' as const), torn: fc.nat({ max: 300 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('damage' as const), file: fc.nat(), at: fc.nat() }),
    },
  ),
  { minLength: 1, maxLength: 14 },
)

test(
  'appended records come out in order, except for one record for each corruption',
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(2_000, 20_000, 16_000_000), async (sequence, segmentBytes) => {
        await play(sequence, segmentBytes)
      }),
      { numRuns: 100 },
    )
  },
)

/** Bytes that look like records, headers and zeros among others. */
function rawOf(index: number, length: number): Buffer {
  const pattern = ['\0', '\u00f5mw\u0001\t\0\0\0', 'text'][index % 3] ?? ''
  return Buffer.alloc(length, pattern, 'latin1')
}

async function play(sequence: readonly Step[], segmentBytes: number): Promise<void> {
  let open = await spooling({ segmentBytes })
  const folders = [open.folder]
  const appended: string[] = []
  /** Accepted by the store, in the order of their first arrival. */
  const drained: string[] = []
  const reports: string[] = []
  let damages = 0
  /** This many were appended before the process that is open now. */
  let before = 0

  function take(batch: readonly { readonly name: string; readonly raw: Buffer }[]): void {
    let last = -1
    for (const { name, raw } of batch) {
      const index = appended.indexOf(name)
      expect(index).toBeGreaterThan(last)
      last = index
      expect(raw.equals(rawOf(index, raw.length))).toBe(true)
      if (!drained.includes(name)) drained.push(name)
    }
  }

  async function reopen(folder: string): Promise<void> {
    reports.push(...open.errors.map(({ code }) => code))
    open = await spooling({ folder, segmentBytes })
    folders.push(folder)
    before = appended.length
  }

  const makeEvent = (length: number) => {
    const name = `e${appended.length}`
    const made = event(name, rawOf(appended.length, length))
    appended.push(name)
    return made
  }

  for (const step of sequence) {
    const { spool, folder } = open
    if (step.kind === 'append') await spool.append(step.sizes.map(makeEvent))
    else if (step.kind === 'appendTogether')
      await Promise.all(step.sizes.map((length) => spool.append([makeEvent(length)])))
    else if (step.kind === 'drain') {
      take((await emptyAll(spool)).map((one) => ({ name: nameOf(one), raw: one.raw })))
      expect(spool.size).toBe(0)
      expect(segmentFiles(folder)).toEqual([])
      before = appended.length
    } else if (step.kind === 'drainInPart') {
      let batches = 0
      await spool
        .empty(async (batch) => {
          if (batches === step.batches) throw new Error('unavailable')
          batches += 1
          take(batch.map((one) => ({ name: nameOf(one), raw: one.raw })))
        })
        .catch((error: unknown) => expect(error).toMatchObject({ message: 'unavailable' }))
    } else if (step.kind === 'restart') {
      await spool.close()
      await reopen(folder)
    } else if (step.kind === 'crash') {
      const copy = await crashed(folder)
      await spool.close()
      const last = segmentFiles(copy).at(-1)
      // The start of an existing record stands for the one that was being written. No process writes to an adopted
      // file.
      if (last !== undefined && appended.length > before)
        appendFileSync(last, readFileSync(last).subarray(0, step.torn))
      await reopen(copy)
    } else {
      const files = segmentFiles(folder)
      const path = files[step.file % files.length]
      if (path !== undefined) {
        const bytes = readFileSync(path)
        const at = step.at % bytes.length
        bytes.writeUInt8((bytes[at] ?? 0) ^ 0x10, at)
        writeFileSync(path, bytes)
        damages += 1
      }
    }
  }
  take((await emptyAll(open.spool)).map((one) => ({ name: nameOf(one), raw: one.raw })))
  reports.push(...open.errors.map(({ code }) => code))
  expect(new Set(reports).size).toBeLessThanOrEqual(1)
  if (damages === 0) expect(reports).toEqual([])
  expect(appended.length - drained.length).toBeLessThanOrEqual(damages)
  expect(open.spool.size).toBe(0)
  await open.spool.close()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}
