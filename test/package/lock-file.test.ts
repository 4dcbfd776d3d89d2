import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'

const entry = z.looseObject({ resolved: z.string().optional(), integrity: z.string().optional() })
const lockFile = z.object({ packages: z.record(z.string(), entry) })

test('the lock file pins every package by its content, not by its address', async () => {
  const { packages } = lockFile.parse(JSON.parse(await readFile('package-lock.json', 'utf8')))
  const entries = Object.entries(packages).filter(([path]) => path !== '')
  expect(entries.length).toBeGreaterThan(100)
  expect(entries.filter(([, { integrity }]) => integrity === undefined)).toEqual([])
  // A resolved address would send every install to the registry of the file's author.
  expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
})
