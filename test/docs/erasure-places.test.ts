/** The guide to erasure says for each store what it erases and what remains. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const GUIDES = new URL('../../docs/guides/', import.meta.url)

const STORES = readdirSync(new URL('../../src/stores/', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'sql')
  .map(({ name }) => name)

test('has a row for each store', () => {
  const [, table = ''] = readFileSync(new URL('erasure.md', GUIDES), 'utf8').split('## Places')
  expect(STORES.length).toBeGreaterThan(3)
  for (const name of STORES) expect(table).toMatch(new RegExp(`^\\| ${name}\\b`, 'im'))
})
