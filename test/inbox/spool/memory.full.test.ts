/** A backlog is in the files, not in the process. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from '../../support/program.ts'
import { ownFolder } from '../../support/own-folder.ts'

const PROGRAM = join(import.meta.dirname, 'programs', 'empty-many.ts')
const RECORDS = 100_000

test('writes, counts and drains 100,000 records in bounded memory', { timeout: 120_000 }, async () => {
  const { stdout, stderr } = await runProgram(process.execPath, ['--expose-gc', PROGRAM, ownFolder(), `${RECORDS}`])
  expect(stderr).toBe('')
  const { drained, bytes, heldBeforeMb, mostHeldMb, longestBatch } = JSON.parse(stdout) as Record<string, number>
  console.log(stdout.trim())
  expect(drained).toBe(RECORDS)
  expect(bytes).toBeGreaterThan(50_000_000)
  expect(longestBatch).toBeLessThanOrEqual(256)
  expect((mostHeldMb ?? Infinity) - (heldBeforeMb ?? 0)).toBeLessThan(30)
})
