/** Temporary folders and files that belong to one test. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
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

/** The number of occurrences of a text in the files below a folder. */
export function occurrencesIn(folder: string, text: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .reduce((sum, path) => sum + readFileSync(path).toString('latin1').split(text).length - 1, 0)
}
