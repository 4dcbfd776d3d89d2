/** Temporary folders and files that belong to one test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Removed with its contents after the test. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mw-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The path of a database that does not exist yet, in a folder of its own. */
export function ownFile(): string {
  return join(ownFolder(), 'inbox.db')
}
