/**
 * The quarantine's files, corrupted at every byte: only the touched request is lost. A run takes a fixed selection
 * of the places, `EVERY_BYTE=1` takes them all.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { REQUEST_LOG } from '../../src/quarantine/request-files.ts'
import { createRequestLog } from '../../src/quarantine/request-log.ts'
import { memoryKeeper } from '../../src/quarantine/keeper.ts'
import type { KeptRequest } from '../../src/quarantine/request.ts'
import type { FileSystem } from '../../src/disk-log/file-system.ts'
import { encodeRecord } from '../../src/disk-log/record.ts'
import { nodeFs } from '../../src/disk-log/node-file-system.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { fileOf, MARKER, TIMEOUT, PROCESS_FOLDER, SALT, type Files } from '../support/corrupt-file.ts'
import { refusedWith, standing } from '../support/kept-requests.ts'
import { ownFolder } from '../support/own-folder.ts'

const ARRIVED_MS = 1_800_000_000_000

function kept(index: number, bytes: Buffer): KeptRequest {
  const fields = { signatures: [`t=1,v1=${MARKER}`], arrivedAtMs: ARRIVED_MS + index, remoteAddress: '192.0.2.1' }
  const callback = refusedWith(bytes, fields)
  return { ...standing('looksLikeOurs'), id: '', sequence: ARRIVED_MS * 1_024 + index, callback }
}

const BODIES = [
  Buffer.from(`a ${MARKER}`),
  Buffer.from('b'),
  Buffer.concat([REQUEST_LOG.magic, encodeRecord(REQUEST_LOG, kept(9, Buffer.from('forged')), 0), REQUEST_LOG.magic]),
  Buffer.alloc(700),
  Buffer.alloc(41, MARKER),
]
const FRAMES = BODIES.map((bytes, index) => encodeRecord(REQUEST_LOG, kept(index, bytes), SALT))
const { file: FILE, places, recordAt, changed } = fileOf(FRAMES)
const ALL = [0, 1, 2, 3, 4]

interface Outcome {
  /** The numbers of the bodies that are kept again. */
  readonly found: readonly number[]
  readonly codes: readonly string[]
}

function fileName(number: number, salt = SALT): string {
  return `${String(number).padStart(8, '0')}-${salt.toString(16).padStart(8, '0')}.requests`
}

/** Opens the log of a folder, writes again what it found, and closes it. */
async function loaded(folder: string, fs: FileSystem = nodeFs): Promise<Outcome> {
  const clock = fakeClock(ARRIVED_MS + 1_000)
  const errors: MessagingWebhooksError[] = []
  const diskLog = createRequestLog({ fs, clock, folder, report: (error) => void errors.push(error) })
  const keeper = memoryKeeper({ maxBytes: 16_777_216, maxAgeMs: 3_600_000 }, diskLog.changes)
  await diskLog.open((remembered) => keeper.restore(remembered, clock.now()))
  const found = keeper.all().map(({ callback }) => BODIES.findIndex((body) => body.equals(callback.captured.bytes)))
  await diskLog.close(60_000)
  expect(errors.map((error) => `${error.message} ${String(error.cause)}`).join()).not.toContain(MARKER)
  return { found, codes: errors.map(({ code }) => code) }
}

/** What a process finds after a dead one; the next one must find the same, and nothing to report. */
async function outcomeOf(files: Files): Promise<Outcome> {
  const folder = ownFolder()
  mkdirSync(join(folder, PROCESS_FOLDER))
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, PROCESS_FOLDER, name), bytes)
  const outcome = await loaded(folder)
  expect(await loaded(folder)).toEqual({ found: outcome.found, codes: [] })
  rmSync(folder, { recursive: true })
  return outcome
}

function without(...records: readonly number[]): readonly number[] {
  return ALL.filter((index) => !records.includes(index))
}

// Other bytes, cuts and insertions: inbox/spool/every-byte.full.test.ts, which uses the same reader.
test('any flipped byte costs its request and is reported once', TIMEOUT, async () => {
  for (const at of places()) {
    const bytes = changed(at, (byte) => byte ^ 0x10)
    const outcome = { found: without(recordAt(at)), codes: ['quarantine_damaged'] }
    expect(await outcomeOf({ [fileName(1)]: bytes }), `at ${at}`).toEqual(outcome)
  }
})

test('reports a file that cannot be opened, and reads the others', async () => {
  const folder = ownFolder()
  mkdirSync(join(folder, PROCESS_FOLDER, fileName(1)), { recursive: true })
  for (const [index, frame] of FRAMES.entries()) writeFileSync(join(folder, PROCESS_FOLDER, fileName(index + 2)), frame)
  expect(await loaded(folder)).toEqual({ found: ALL, codes: ['quarantine_unwritten'] })
})

test('skips a damaged request whose body contains many record marks by reading the file a few times', async () => {
  const folder = ownFolder()
  mkdirSync(join(folder, PROCESS_FOLDER))
  const large = encodeRecord(REQUEST_LOG, kept(8, Buffer.alloc(250_000, REQUEST_LOG.magic)), SALT)
  large.writeUInt8(0, 1)
  // Longer than one read.
  const bytes = Buffer.concat([large, FILE, Buffer.alloc(500_000)])
  writeFileSync(join(folder, PROCESS_FOLDER, fileName(1)), bytes)
  let read = 0
  const fs: FileSystem = {
    ...nodeFs,
    async open(path, flags, mode) {
      const file = await nodeFs.open(path, flags, mode)
      const real = file.read.bind(file)
      return Object.assign(file, {
        async read(buffer: Uint8Array, offset: number, length: number, position: number) {
          const done = await real(buffer, offset, length, position)
          read += done.bytesRead
          return done
        },
      })
    },
  }
  expect(await loaded(folder, fs)).toEqual({ found: ALL, codes: ['quarantine_damaged'] })
  expect(read).toBeLessThan(10 * bytes.length)
})
