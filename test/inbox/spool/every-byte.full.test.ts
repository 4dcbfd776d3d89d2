/**
 * A file of records, corrupted at every byte: only the touched record is lost, and the reader reports it
 * once. A run takes a fixed selection of the places, `EVERY_BYTE=1` takes them all.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { MessagingWebhooksError } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { EVENT_LOG } from '../../../src/inbox/spool/segment.ts'
import { openSpool } from '../../../src/inbox/spool/spool.ts'
import type { NewEvent } from '../../../src/messages/event-record.ts'
import { encodeRecord } from '../../../src/disk-log/record.ts'
import { fileOf, MARKER, TIMEOUT, PROCESS_FOLDER, SALT, WHOLE, type Files } from '../../support/corrupt-file.ts'
import { emptyAll, event, filesIn, nameOf, segmentFiles } from './spooling.ts'
import { ownFolder } from '../../support/own-folder.ts'

const OTHER_SALT = 0x5a17_0002

const SENT: readonly NewEvent[] = [
  event('a', Buffer.from(MARKER)),
  event('b', Buffer.alloc(0)),
  event('c', Buffer.concat([EVENT_LOG.magic, encodeRecord(EVENT_LOG, event('forged'), 0), EVENT_LOG.magic])),
  event('d', Buffer.alloc(700)),
  event('e', Buffer.alloc(41, MARKER)),
]
const NAMES = SENT.map(nameOf)
const FRAMES = SENT.map((one) => encodeRecord(EVENT_LOG, one, SALT))
const { file: FILE, starts: STARTS, places, recordAt, changed } = fileOf(FRAMES)

interface Outcome {
  readonly names: readonly string[]
  readonly codes: readonly string[]
}

function fileName(number: number, salt = SALT): string {
  return `${String(number).padStart(8, '0')}-${salt.toString(16).padStart(8, '0')}.segment`
}

/** What a process finds in a folder where a dead one left these; the next one must find nothing. */
async function outcomeOf(files: Files): Promise<Outcome> {
  const folder = ownFolder()
  mkdirSync(join(folder, PROCESS_FOLDER))
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, PROCESS_FOLDER, name), bytes)
  const errors: MessagingWebhooksError[] = []
  const open = () => openSpool({ folder, reserveBytes: 0, report: (error) => void errors.push(error) })
  const spool = await open()
  const drained = await emptyAll(spool)
  for (const one of drained) expect(one).toEqual(SENT.find((sent) => sent.id === one.id))
  expect(spool.size).toBe(0)
  expect(segmentFiles(folder)).toEqual([])
  expect(errors.map((error) => `${error.message} ${String(error.cause)}`).join()).not.toContain(MARKER)
  const codes = errors.map(({ code }) => code)
  await spool.append([event('next')])
  await spool.close()
  const next = await open()
  expect((await emptyAll(next)).map(nameOf)).toEqual(['next'])
  await next.close()
  expect(errors.length).toBe(codes.length)
  rmSync(folder, { recursive: true })
  return { names: drained.map(nameOf), codes }
}

function without(...records: readonly number[]): readonly string[] {
  return NAMES.filter((_, index) => !records.includes(index))
}

test(
  'after truncation at any byte, all whole records before it return, and it counts as a torn write',
  TIMEOUT,
  async () => {
    for (const at of places())
      expect(await outcomeOf({ [fileName(1)]: FILE.subarray(0, at) }), `cut at ${at}`).toEqual({
        names: NAMES.slice(0, recordAt(at)),
        codes: [],
      })
  },
)

test.each([
  ['flipped', (byte: number) => byte ^ 0x10],
  ['zeroed', () => 0],
  ['set to 0xff', () => 0xff],
])('any byte %s costs its record and is reported once', TIMEOUT, async (_, to) => {
  for (const at of places()) {
    const bytes = changed(at, to)
    if (bytes.equals(FILE)) continue
    // Here a zero is what a write leaves that stopped before its end.
    const isTorn = at === FILE.length - 1 && bytes[at] === 0
    expect(await outcomeOf({ [fileName(1)]: bytes }), `at ${at}`).toEqual({
      names: without(recordAt(at)),
      codes: isTorn ? [] : ['spool_damaged'],
    })
  }
})

test('missing or extra bytes cost the record that they are in, and not the next one', TIMEOUT, async () => {
  for (const at of places()) {
    const record = recordAt(at)
    for (const length of WHOLE ? [1, 30, 400] : [1, 400]) {
      const more = Buffer.concat([FILE.subarray(0, at), Buffer.alloc(length, 0xfe), FILE.subarray(at)])
      expect((await outcomeOf({ [fileName(1)]: more })).names, `${length} more at ${at}`).toEqual(
        STARTS.includes(at) ? NAMES : without(record),
      )
      const isWithin = at + length <= (STARTS[record + 1] ?? 0)
      if (!isWithin) continue
      const fewer = Buffer.concat([FILE.subarray(0, at), FILE.subarray(at + length)])
      expect((await outcomeOf({ [fileName(1)]: fewer })).names, `${length} fewer at ${at}`).toEqual(without(record))
    }
  }
})

test('foreign bytes appended cost nothing: zeros, a part of another file, the file once more', async () => {
  const other = encodeRecord(EVENT_LOG, event('other'), OTHER_SALT)
  const cases: readonly (readonly [string, Files, Outcome])[] = [
    ['zeros', { [fileName(1)]: Buffer.concat([FILE, Buffer.alloc(3_000_000)]) }, { names: NAMES, codes: [] }],
    [
      'another file’s tail',
      { [fileName(1)]: Buffer.concat([FILE, other.subarray(9), other]) },
      { names: NAMES, codes: ['spool_damaged'] },
    ],
    ['itself', { [fileName(1)]: Buffer.concat([FILE, FILE]) }, { names: [...NAMES, ...NAMES], codes: [] }],
    ['a copy of it', { [fileName(1)]: FILE, [fileName(2)]: FILE }, { names: [...NAMES, ...NAMES], codes: [] }],
    ['another’s name', { [fileName(1, OTHER_SALT)]: FILE }, { names: [], codes: ['spool_damaged'] }],
    ['nothing', { [fileName(1)]: Buffer.alloc(0), [fileName(2)]: FILE }, { names: NAMES, codes: [] }],
  ]
  for (const [name, files, outcome] of cases) expect(await outcomeOf(files), name).toEqual(outcome)
})

test('reads files in the order of their numbers, whatever lies between', async () => {
  const [a, b, c] = FRAMES
  const files: Files = {
    [fileName(100_000_000)]: c ?? FILE,
    [fileName(99_999_999)]: b ?? FILE,
    [fileName(7, OTHER_SALT)]: Buffer.alloc(5_000, 'no record'),
    [fileName(2)]: a ?? FILE,
  }
  expect(await outcomeOf(files)).toEqual({ names: ['a', 'b', 'c'], codes: ['spool_damaged'] })
})

test("files with similar names stay unchanged, and do not block the spool's own", async () => {
  const folder = ownFolder()
  const home = join(folder, PROCESS_FOLDER)
  mkdirSync(home)
  const strange = [
    fileName(3).replace('00000003', '000000003'),
    fileName(3).replace('00000003', '9'.repeat(20)),
    fileName(3).replace('00000003', '9'.repeat(30)),
    fileName(3).replace('00000003', '9007199254740993'),
    fileName(3).toUpperCase(),
    `${fileName(3)}.old`,
    'v1-bbbbbbbbbbbb',
    'v1-cccccccccccc.new',
  ]
  for (const name of strange) writeFileSync(join(home, name), FILE)
  writeFileSync(join(folder, 'v1-dddddddddddd'), FILE)
  for (const [index, frame] of FRAMES.entries()) writeFileSync(join(home, fileName(index + 1)), frame)
  const errors: MessagingWebhooksError[] = []
  const spool = await openSpool({ folder, reserveBytes: 0, report: (error) => void errors.push(error) })
  expect((await emptyAll(spool)).map(nameOf)).toEqual(NAMES)
  expect(errors).toEqual([])
  expect(filesIn(folder).map((path) => basename(path))).toEqual(expect.arrayContaining([...strange, 'v1-dddddddddddd']))
  await spool.close()
})
