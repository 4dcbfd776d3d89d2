/** The packed README: its relative links are packed, and registries can resolve them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { readMarkdown, readProjectFile } from '../../docs/markdown.ts'
import { mustRun, pack } from './packed.ts'

test('every relative link of the packed README, and its picture, is packed too', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(`${tmpdir()}/messaging-webhooks-readme-`)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await mustRun('tar', ['xzf', await pack(folder), '-C', folder])
  const packed = (await mustRun('find', ['.', '-type', 'f'], `${folder}/package`)).split('\n')
  const { links } = readMarkdown(readFileSync(`${folder}/package/README.md`, 'utf8'))
  const relative = links.map((link) => link.split('#')[0] ?? '').filter((path) => path !== '' && !path.includes(':'))
  expect(relative.filter((path) => !packed.includes(`./${path}`))).toEqual([])
  expect(packed.filter((path) => path.includes('.built'))).toEqual([])
})

test('package.json has the repository, the homepage and the issues at one address', () => {
  const { repository, homepage, bugs } = z
    .object({
      repository: z.object({ type: z.literal('git'), url: z.string() }),
      homepage: z.url(),
      bugs: z.object({ url: z.url() }),
    })
    .parse(JSON.parse(readProjectFile('package.json')))
  const [, address = ''] = /^git\+(https:\/\/.+)\.git$/.exec(repository.url) ?? []
  expect(address).toMatch(/\/messaging-webhooks$/)
  expect([homepage, bugs.url]).toEqual([`${address}#readme`, `${address}/issues`])
})
