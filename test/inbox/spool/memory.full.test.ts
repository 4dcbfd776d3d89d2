/** A backlog is in the files, not in the process. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from '../../support/program.ts'
import { temporaryFolder } from './spooling.ts'

const PROGRAM = join(import.meta.dirname, 'programs', 'empty-many.ts')
const RECORDS = 200_000

test('200,000 records are written, counted and drained in bounded memory', { timeout: 120_000 }, async () => {
  const { stdout, stderr } = await runProgram(process.execPath, [
    '--expose-gc',
    PROGRAM,
    temporaryFolder(),
    `${RECORDS}`,
  ])
  expect(stderr).toBe('')
  const { drained, bytes, openedMs, drainedMs, heldBeforeMb, mostHeldMb, longestBatch } = JSON.parse(stdout) as Record<
    string,
    number
  >
  console.log(stdout.trim())
  expect(drained).toBe(RECORDS)
  expect(bytes).toBeGreaterThan(100_000_000)
  expect(longestBatch).toBeLessThanOrEqual(256)
  expect((mostHeldMb ?? Infinity) - (heldBeforeMb ?? 0)).toBeLessThan(30)
  expect(openedMs).toBeLessThan(20_000)
  expect(drainedMs).toBeLessThan(60_000)
})
