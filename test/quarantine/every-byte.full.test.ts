/**
 * The quarantine's files, corrupted at every byte: only the touched request is lost. A run takes a fixed selection
 * of the places, `EVERY_BYTE=1` takes them all.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { REQUEST_LOG } from '../../src/quarantine/request-file.ts'
import { createRequestLog } from '../../src/quarantine/request-log.ts'
import { memoryKeeper } from '../../src/quarantine/keeper.ts'
import type { KeptRequest } from '../../src/quarantine/request.ts'
import { encodeRecord } from '../../src/disk-log/record.ts'
import { nodeFs } from '../../src/disk-log/file-system.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { fileOf, MARKER, TIMEOUT, PROCESS_FOLDER, SALT } from '../support/corrupt-file.ts'
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
const ALL = [0, 1, 2, 3, 4]

interface Outcome {
  /** The numbers of the bodies that are kept again. */
  readonly found: readonly number[]
  readonly codes: readonly string[]
}

function fileName(number: number): string {
  return `${String(number).padStart(8, '0')}-${SALT.toString(16).padStart(8, '0')}.request`
}

/** Opens the log of a folder, writes again what it found, and closes it. */
async function loaded(folder: string): Promise<Outcome> {
  const clock = fakeClock(ARRIVED_MS + 1_000)
  const errors: MessagingWebhooksError[] = []
  const diskLog = createRequestLog({ fs: nodeFs, clock, folder, report: (error) => void errors.push(error) })
  const keeper = memoryKeeper({ maxBytes: 16_777_216, maxAgeMs: 3_600_000 }, diskLog.changes)
  await diskLog.open((remembered) => keeper.restore(remembered, clock.now()))
  const found = keeper.all().map(({ callback }) => BODIES.findIndex((body) => body.equals(callback.captured.bytes)))
  await diskLog.close(60_000)
  expect(errors.map((error) => `${error.message} ${String(error.cause)}`).join()).not.toContain(MARKER)
  return { found, codes: errors.map(({ code }) => code) }
}

/** A folder of a dead process with these files. */
function left(files: readonly Buffer[]): string {
  const folder = ownFolder()
  mkdirSync(join(folder, PROCESS_FOLDER))
  for (const [index, bytes] of files.entries()) writeFileSync(join(folder, PROCESS_FOLDER, fileName(index + 1)), bytes)
  return folder
}

// Other bytes, cuts and insertions: inbox/spool/every-byte.full.test.ts, which uses the same reader.
test.each(ALL)('any flipped byte of file %i costs its request and is reported once', TIMEOUT, async (touched) => {
  const others = ALL.filter((index) => index !== touched)
  const { places, changed } = fileOf(FRAMES.slice(touched, touched + 1))
  for (const at of places()) {
    const folder = left(
      FRAMES.with(
        touched,
        changed(at, (byte) => byte ^ 0x10),
      ),
    )
    expect(await loaded(folder), `at ${at}`).toEqual({ found: others, codes: ['quarantine_damaged'] })
    expect(await loaded(folder)).toEqual({ found: others, codes: [] })
    rmSync(folder, { recursive: true })
  }
})

test('reports a file that cannot be opened, and reads the others', async () => {
  const folder = left(FRAMES)
  mkdirSync(join(folder, PROCESS_FOLDER, fileName(9)))
  expect(await loaded(folder)).toEqual({ found: ALL, codes: ['quarantine_unwritten'] })
})
