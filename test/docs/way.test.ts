/** The picture of the README is what its script makes, and names what the receiver answers. */
import { expect, test } from 'vitest'
import { readPage, readProjectFile, tableOf } from '../../docs/markdown.ts'
import { WAY_FILE, wayText } from '../../docs/way.ts'

test('way.svg is what `npm run docs:tables` writes', () => {
  expect(readProjectFile(WAY_FILE)).toBe(wayText())
})

test('way.svg names only statuses that the receiver answers', () => {
  const answers = tableOf(readPage('docs/reference/answers.md'), 'answers', ['Status', 'Code', 'When'])
  const named = new Set(wayText().match(/\b[1-5]\d\d\b(?=[,<: ])/g))
  expect(named.size).toBeGreaterThan(5)
  expect([...named].filter((status) => !answers.some(([answered]) => answered === status))).toEqual([])
})
