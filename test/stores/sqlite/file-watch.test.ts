/** A file is taken for another only if nothing explains what its first page says. */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { watchFile } from '../../../src/stores/sqlite/file-watch.ts'
import { openDatabase } from '../../../src/stores/sqlite/database.ts'
import { ownFile } from '../../support/own-folder.ts'

const PAGE_COUNT_AT = 28
const PAGE_BYTES = 4_096
const PAGES = 1_000

/** A watched file whose first page says that it has `PAGES` pages. */
async function longAccordingToItsHeader() {
  const path = ownFile()
  const { db } = await openDatabase({ path, synchronous: 'OFF', busyTimeoutMs: 1_000 })
  db.close()
  const { size } = new DatabaseSync(path).prepare('SELECT page_count AS size FROM pragma_page_count').get() ?? {}
  const file = watchFile(path)
  const descriptor = openSync(path, 'r+')
  onTestFinished(() => closeSync(descriptor))
  const count = Buffer.alloc(4)
  count.writeUInt32BE(PAGES)
  writeSync(descriptor, count, 0, 4, PAGE_COUNT_AT)
  return { file, descriptor, firstPage: Number(size) }
}

test('a file that another process is still writing is not taken for another', async () => {
  const { file, descriptor, firstPage } = await longAccordingToItsHeader()
  for (let page = firstPage; page < firstPage + 20; page += 1) {
    writeSync(descriptor, Buffer.alloc(1), 0, 1, page * PAGE_BYTES)
    expect(file.look()).toBe(false)
  }
  ftruncateSync(descriptor, PAGES * PAGE_BYTES)
  for (let look = 0; look < 10; look += 1) expect(file.look()).toBe(false)
  expect(file.isReplaced).toBe(false)
})
