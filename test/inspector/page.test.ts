/** The built page: small, complete, and without inline code. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const FOLDER = fileURLToPath(new URL('../../dist/inspector/page/', import.meta.url))
const MOST_BYTES = 70 * 1_024

const files = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(FOLDER + name, 'utf8')]))

test('is at most 70 KiB before compression', () => {
  const sizes = [...files.values()].map((text) => Buffer.byteLength(text))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MOST_BYTES)
})

test('references only its own files by relative paths, has nothing inline, and evaluates no strings', () => {
  const index = files.get('index.html') ?? ''
  const named = [...index.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
  expect(named).toContain('page/main.js')
  for (const address of named) expect([...files.keys()].map((name) => `page/${name}`)).toContain(address)
  expect(index).not.toMatch(/<style|style=|\son\w+=|<script[^>]*>[^<]/)
  const script = files.get('main.js') ?? ''
  expect(script).not.toMatch(/\bimport[\s("'`{]|\beval\(|new Function/)
})
