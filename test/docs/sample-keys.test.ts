/** The keys of the samples start a receiver without a warning: what a new user sees first must not alarm. */
import { globSync } from 'node:fs'
import { createReceiver } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { PAGES, readProjectFile, ROOT } from '../../docs/markdown.ts'
import { logging } from '../support/logging.ts'

const PAIRS = [
  /authKey: '(?<authKey>[^']+)',\s*signingSecret: '(?<signingSecret>[^']+)'/g,
  /AUTH_KEY = '(?<authKey>[^']+)', SIGNING_SECRET = '(?<signingSecret>[^']+)'/g,
  /AUTH_KEY=(?<authKey>[\w-]+) SIGNING_SECRET=(?<signingSecret>[\w-]+)/g,
]

const SAMPLES = [...PAGES, ...globSync('examples/**/*.ts', { cwd: ROOT }).sort()].flatMap((path) => {
  const text = readProjectFile(path)
  return PAIRS.flatMap((pair) => [...text.matchAll(pair)]).map(({ groups = {} }) => ({ path, ...groups }))
})

test('the pages and the examples have pairs', () => {
  expect(SAMPLES.length).toBeGreaterThan(20)
})

test.each(SAMPLES)('%o', ({ path: _, ...credentials }) => {
  const { logger, lines } = logging()
  createReceiver({ credentials, logger })
  expect(lines).toEqual([])
})
