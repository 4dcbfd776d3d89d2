/** Prints the changelog's part about the version of package.json, for the page of its release. */
import { readProjectFile } from '../../docs/markdown.ts'
import { partOf } from './changelog.ts'

const { version } = JSON.parse(readProjectFile('package.json')) as { version: string }
console.log(partOf(readProjectFile('CHANGELOG.md'), version))
