/** The names, compared with the package of OpenTelemetry's semantic conventions. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { expect, test } from 'vitest'
import { ATTRIBUTES, METRICS } from '../../src/otel/names.ts'

test('names other than our own are those of the semantic conventions, in the stated version', () => {
  const theirs = new Set<unknown>(Object.values(conventions))
  const all = [...Object.values(ATTRIBUTES), ...Object.keys(METRICS)]
  const ours = all.filter((name) => name.startsWith('messaging_webhooks.'))
  expect(ours.length).toBeGreaterThan(5)
  expect(all.filter((name) => !ours.includes(name) && !theirs.has(name))).toEqual([])
  expect(ours.filter((name) => theirs.has(name))).toEqual([])
  const file = readFileSync('src/otel/names.ts', 'utf8')
  const main = createRequire(import.meta.url).resolve('@opentelemetry/semantic-conventions')
  const manifest = readFileSync(main.replace(/dist.*$/, 'package.json'), 'utf8')
  expect(manifest).toContain(`"version": "${/version (\d+\.\d+\.\d+)/.exec(file)?.[1] ?? 'none'}"`)
})
