/** The contents of a release: the lock file, licences, SBOM, known vulnerabilities, notes, and size. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readProjectFile } from '../../docs/markdown.ts'
import { mustRun } from './packed.ts'
import { partOf } from './changelog.ts'
import { unexplained, vulnerabilitiesIn } from './vulnerabilities.ts'

/** Licences that require only attribution. */
const LICENCES = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', '0BSD']

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      license: z.string().optional(),
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      dev: z.boolean().default(false),
      devOptional: z.boolean().default(false),
      peer: z.boolean().default(false),
      link: z.boolean().default(false),
    }),
  ),
})

/** The packages of the lock file, by their paths, without the two manifests of this project. */
const LOCKED = Object.entries(lockFile.parse(JSON.parse(readProjectFile('package-lock.json'))).packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
)

describe('the packages that users install', () => {
  const installed = LOCKED.filter(([, { dev, devOptional, peer }]) => !dev && !devOptional && !peer)

  test('have permissive licences', () => {
    expect(installed.length).toBeGreaterThan(5)
    const others = installed.filter(([, { license }]) => !LICENCES.includes(license ?? ''))
    expect(others.map(([path, { license }]) => `${path}: ${String(license)}`)).toEqual([])
  })

  test('are few: docs/decisions.md explains each beyond five', () => {
    const { dependencies } = z
      .object({ dependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readProjectFile('package.json')))
    const decisions = readProjectFile('docs/decisions.md')
    expect(Object.keys(dependencies).filter((name) => !decisions.includes(`\`${name}\``))).toEqual([])
  })
})

describe('a finding of `npm audit`', () => {
  const audit = JSON.stringify({
    vulnerabilities: {
      a: { via: [{ source: 1, title: 'Bad', name: 'a', url: 'https://example.com/GHSA-1' }] },
      b: { via: ['a'] },
      c: { via: [{ source: 2, title: 'Worse', name: 'c' }] },
    },
  })

  test('fails unless it is explained', () => {
    const known = vulnerabilitiesIn(audit)
    expect(known.map(({ id }) => id)).toEqual(['GHSA-1', '2'])
    expect(unexplained(known, { 'GHSA-1': 'It is never called.' })).toEqual([{ id: '2', title: 'Worse', of: 'c' }])
  })

  test('fails, too, without output', () => {
    expect(() => vulnerabilitiesIn('{"error":{"summary":"Not found"}}', 'npm error 404')).toThrow('npm error 404')
  })
})

test('the notes of a release are its changelog section', () => {
  const changelog = '# Changelog\n\n## [Unreleased]\n\n- c\n\n## [1.1.0] - 2026-01-01\n\n- b\n\n## [1.0.0]\n\n- a\n'
  expect(partOf(changelog, '1.1.0')).toBe('- b')
  expect(() => partOf(changelog, '1.2.0')).toThrow('CHANGELOG.md says nothing of 1.2.0.')
})

test('the tarball stays below its limit', { timeout: 120_000 }, async () => {
  const [packed] = z
    .array(z.object({ size: z.number(), unpackedSize: z.number(), entryCount: z.number() }))
    .parse(JSON.parse(await mustRun('npm', ['pack', '--dry-run', '--json', '--silent', '--ignore-scripts'])))
  const { size = 0, unpackedSize = 0 } = packed ?? {}
  expect(size).toBeGreaterThan(100_000)
  // Slightly more than docs/decisions.md says.
  expect(size).toBeLessThan(850_000)
  expect(unpackedSize).toBeLessThan(2_900_000)
})

test('the workflow publishes only what it has tested', () => {
  const workflow = readFileSync(new URL('../../.github/workflows/release.yml', import.meta.url), 'utf8')
  for (const step of [
    'bash .ci/run',
    'npm run test:matrix',
    'npm run audit',
    'npm publish --provenance',
    'needs: test',
  ])
    expect(workflow).toContain(step)
  expect(workflow).not.toMatch(/NODE_AUTH_TOKEN|NPM_TOKEN/)
})

test('the lock file pins every package by its content, not by its address', () => {
  expect(LOCKED.length).toBeGreaterThan(100)
  expect(LOCKED.filter(([, { integrity }]) => integrity === undefined)).toEqual([])
  // A resolved address would send every install to the registry of the file's author.
  expect(LOCKED.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
})
