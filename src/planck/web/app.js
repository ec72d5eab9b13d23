// Made of page/ by `make page`: c126022260a6959a
"use strict";(()=>{var ht,q,zs,He,Ks,Ds,Ao,dt={},Vs=[],Do=/acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i;function ke(e,t){for(var s in t)e[s]=t[s];return e}function Gs(e){var t=e.parentNode;t&&t.removeChild(e)}function n(e,t,s){var o,a,i,l={};for(i in t)i=="key"?o=t[i]:i=="ref"?a=t[i]:l[i]=t[i];if(arguments.length>2&&(l.children=arguments.length>3?ht.call(arguments,2):s),typeof e=="function"&&e.defaultProps!=null)for(i in e.defaultProps)l[i]===void 0&&(l[i]=e.defaultProps[i]);return lt(e,l,o,a,null)}function lt(e,t,s,o,a){var i={type:e,props:t,key:s,ref:o,__k:null,__:null,__b:0,__e:null,__d:void 0,__c:null,__h:null,constructor:void 0,__v:a??++zs};return q.vnode!=null&&q.vnode(i),i}function mt(e){return e.children}function re(e,t){this.props=e,this.context=t}function Ne(e,t){if(t==null)return e.__?Ne(e.__,e.__.__k.indexOf(e)+1):null;for(var s;t<e.__k.length;t++)if((s=e.__k[t])!=null&&s.__e!=null)return s.__e;return typeof e.type=="function"?Ne(e):null}function Js(e){var t,s;if((e=e.__)!=null&&e.__c!=null){for(e.__e=e.__c.base=null,t=0;t<e.__k.length;t++)if((s=e.__k[t])!=null&&s.__e!=null){e.__e=e.__c.base=s.__e;break}return Js(e)}}function Ns(e){(!e.__d&&(e.__d=!0)&&He.push(e)&&!ut.__r++||Ds!==q.debounceRendering)&&((Ds=q.debounceRendering)||Ks)(ut)}function ut(){for(var e;ut.__r=He.length;)e=He.sort(function(t,s){return t.__v.__b-s.__v.__b}),He=[],e.some(function(t){var s,o,a,i,l,c;t.__d&&(l=(i=(s=t).__v).__e,(c=s.__P)&&(o=[],(a=ke({},i)).__v=i.__v+1,zt(c,i,a,s.__n,c.ownerSVGElement!==void 0,i.__h!=null?[l]:null,o,l??Ne(i),i.__h),Zs(o,i),i.__e!=l&&Js(i)))})}function Qs(e,t,s,o,a,i,l,c,d,p){var u,f,m,h,_,y,k,g=o&&o.__k||Vs,$=g.length;for(s.__k=[],u=0;u<t.length;u++)if((h=s.__k[u]=(h=t[u])==null||typeof h=="boolean"?null:typeof h=="string"||typeof h=="number"||typeof h=="bigint"?lt(null,h,null,null,h):Array.isArray(h)?lt(mt,{children:h},null,null,null):h.__b>0?lt(h.type,h.props,h.key,null,h.__v):h)!=null){if(h.__=s,h.__b=s.__b+1,(m=g[u])===null||m&&h.key==m.key&&h.type===m.type)g[u]=void 0;else for(f=0;f<$;f++){if((m=g[f])&&h.key==m.key&&h.type===m.type){g[f]=void 0;break}m=null}zt(e,h,m=m||dt,a,i,l,c,d,p),_=h.__e,(f=h.ref)&&m.ref!=f&&(k||(k=[]),m.ref&&k.push(m.ref,null,h),k.push(f,h.__c||_,h)),_!=null?(y==null&&(y=_),typeof h.type=="function"&&h.__k!=null&&h.__k===m.__k?h.__d=d=Xs(h,d,e):d=Ys(e,h,m,g,_,d),p||s.type!=="option"?typeof s.type=="function"&&(s.__d=d):e.value=""):d&&m.__e==d&&d.parentNode!=e&&(d=Ne(m))}for(s.__e=y,u=$;u--;)g[u]!=null&&(typeof s.type=="function"&&g[u].__e!=null&&g[u].__e==s.__d&&(s.__d=Ne(o,u+1)),tn(g[u],g[u]));if(k)for(u=0;u<k.length;u++)en(k[u],k[++u],k[++u])}function Xs(e,t,s){var o,a;for(o=0;o<e.__k.length;o++)(a=e.__k[o])&&(a.__=e,t=typeof a.type=="function"?Xs(a,t,s):Ys(s,a,a,e.__k,a.__e,t));return t}function Ys(e,t,s,o,a,i){var l,c,d;if(t.__d!==void 0)l=t.__d,t.__d=void 0;else if(s==null||a!=i||a.parentNode==null)e:if(i==null||i.parentNode!==e)e.appendChild(a),l=null;else{for(c=i,d=0;(c=c.nextSibling)&&d<o.length;d+=2)if(c==a)break e;e.insertBefore(a,i),l=i}return l!==void 0?l:a.nextSibling}function Ps(e,t,s){t[0]==="-"?e.setProperty(t,s):e[t]=s==null?"":typeof s!="number"||Do.test(t)?s:s+"px"}function rt(e,t,s,o,a){var i;e:if(t==="style")if(typeof s=="string")e.style.cssText=s;else{if(typeof o=="string"&&(e.style.cssText=o=""),o)for(t in o)s&&t in s||Ps(e.style,t,"");if(s)for(t in s)o&&s[t]===o[t]||Ps(e.style,t,s[t])}else if(t[0]==="o"&&t[1]==="n")i=t!==(t=t.replace(/Capture$/,"")),t=t.toLowerCase()in e?t.toLowerCase().slice(2):t.slice(2),e.l||(e.l={}),e.l[t+i]=s,s?o||e.addEventListener(t,i?Ls:js,i):e.removeEventListener(t,i?Ls:js,i);else if(t!=="dangerouslySetInnerHTML"){if(a)t=t.replace(/xlink[H:h]/,"h").replace(/sName$/,"s");else if(t!=="href"&&t!=="list"&&t!=="form"&&t!=="tabIndex"&&t!=="download"&&t in e)try{e[t]=s??"";break e}catch{}typeof s=="function"||(s!=null&&(s!==!1||t[0]==="a"&&t[1]==="r")?e.setAttribute(t,s):e.removeAttribute(t))}}function js(e){this.l[e.type+!1](q.event?q.event(e):e)}function Ls(e){this.l[e.type+!0](q.event?q.event(e):e)}function zt(e,t,s,o,a,i,l,c,d){var p,u,f,m,h,_,y,k,g,$,T,x=t.type;if(t.constructor!==void 0)return null;s.__h!=null&&(d=s.__h,c=t.__e=s.__e,t.__h=null,i=[c]),(p=q.__b)&&p(t);try{e:if(typeof x=="function"){if(k=t.props,g=(p=x.contextType)&&o[p.__c],$=p?g?g.props.value:p.__:o,s.__c?y=(u=t.__c=s.__c).__=u.__E:("prototype"in x&&x.prototype.render?t.__c=u=new x(k,$):(t.__c=u=new re(k,$),u.constructor=x,u.render=Po),g&&g.sub(u),u.props=k,u.state||(u.state={}),u.context=$,u.__n=o,f=u.__d=!0,u.__h=[]),u.__s==null&&(u.__s=u.state),x.getDerivedStateFromProps!=null&&(u.__s==u.state&&(u.__s=ke({},u.__s)),ke(u.__s,x.getDerivedStateFromProps(k,u.__s))),m=u.props,h=u.state,f)x.getDerivedStateFromProps==null&&u.componentWillMount!=null&&u.componentWillMount(),u.componentDidMount!=null&&u.__h.push(u.componentDidMount);else{if(x.getDerivedStateFromProps==null&&k!==m&&u.componentWillReceiveProps!=null&&u.componentWillReceiveProps(k,$),!u.__e&&u.shouldComponentUpdate!=null&&u.shouldComponentUpdate(k,u.__s,$)===!1||t.__v===s.__v){u.props=k,u.state=u.__s,t.__v!==s.__v&&(u.__d=!1),u.__v=t,t.__e=s.__e,t.__k=s.__k,t.__k.forEach(function(w){w&&(w.__=t)}),u.__h.length&&l.push(u);break e}u.componentWillUpdate!=null&&u.componentWillUpdate(k,u.__s,$),u.componentDidUpdate!=null&&u.__h.push(function(){u.componentDidUpdate(m,h,_)})}u.context=$,u.props=k,u.state=u.__s,(p=q.__r)&&p(t),u.__d=!1,u.__v=t,u.__P=e,p=u.render(u.props,u.state,u.context),u.state=u.__s,u.getChildContext!=null&&(o=ke(ke({},o),u.getChildContext())),f||u.getSnapshotBeforeUpdate==null||(_=u.getSnapshotBeforeUpdate(m,h)),T=p!=null&&p.type===mt&&p.key==null?p.props.children:p,Qs(e,Array.isArray(T)?T:[T],t,s,o,a,i,l,c,d),u.base=t.__e,t.__h=null,u.__h.length&&l.push(u),y&&(u.__E=u.__=null),u.__e=!1}else i==null&&t.__v===s.__v?(t.__k=s.__k,t.__e=s.__e):t.__e=No(s.__e,t,s,o,a,i,l,d);(p=q.diffed)&&p(t)}catch(w){t.__v=null,(d||i!=null)&&(t.__e=c,t.__h=!!d,i[i.indexOf(c)]=null),q.__e(w,t,s)}}function Zs(e,t){q.__c&&q.__c(t,e),e.some(function(s){try{e=s.__h,s.__h=[],e.some(function(o){o.call(s)})}catch(o){q.__e(o,s.__v)}})}function No(e,t,s,o,a,i,l,c){var d,p,u,f=s.props,m=t.props,h=t.type,_=0;if(h==="svg"&&(a=!0),i!=null){for(;_<i.length;_++)if((d=i[_])&&(d===e||(h?d.localName==h:d.nodeType==3))){e=d,i[_]=null;break}}if(e==null){if(h===null)return document.createTextNode(m);e=a?document.createElementNS("http://www.w3.org/2000/svg",h):document.createElement(h,m.is&&m),i=null,c=!1}if(h===null)f===m||c&&e.data===m||(e.data=m);else{if(i=i&&ht.call(e.childNodes),p=(f=s.props||dt).dangerouslySetInnerHTML,u=m.dangerouslySetInnerHTML,!c){if(i!=null)for(f={},_=0;_<e.attributes.length;_++)f[e.attributes[_].name]=e.attributes[_].value;(u||p)&&(u&&(p&&u.__html==p.__html||u.__html===e.innerHTML)||(e.innerHTML=u&&u.__html||""))}if((function(y,k,g,$,T){var x;for(x in g)x==="children"||x==="key"||x in k||rt(y,x,null,g[x],$);for(x in k)T&&typeof k[x]!="function"||x==="children"||x==="key"||x==="value"||x==="checked"||g[x]===k[x]||rt(y,x,k[x],g[x],$)})(e,m,f,a,c),u)t.__k=[];else if(_=t.props.children,Qs(e,Array.isArray(_)?_:[_],t,s,o,a&&h!=="foreignObject",i,l,i?i[0]:s.__k&&Ne(s,0),c),i!=null)for(_=i.length;_--;)i[_]!=null&&Gs(i[_]);c||("value"in m&&(_=m.value)!==void 0&&(_!==e.value||h==="progress"&&!_)&&rt(e,"value",_,f.value,!1),"checked"in m&&(_=m.checked)!==void 0&&_!==e.checked&&rt(e,"checked",_,f.checked,!1))}return e}function en(e,t,s){try{typeof e=="function"?e(t):e.current=t}catch(o){q.__e(o,s)}}function tn(e,t,s){var o,a;if(q.unmount&&q.unmount(e),(o=e.ref)&&(o.current&&o.current!==e.__e||en(o,null,t)),(o=e.__c)!=null){if(o.componentWillUnmount)try{o.componentWillUnmount()}catch(i){q.__e(i,t)}o.base=o.__P=null}if(o=e.__k)for(a=0;a<o.length;a++)o[a]&&tn(o[a],t,typeof e.type!="function");s||e.__e==null||Gs(e.__e),e.__e=e.__d=void 0}function Po(e,t,s){return this.constructor(e,s)}function Kt(e,t,s){var o,a,i;q.__&&q.__(e,t),a=(o=typeof s=="function")?null:s&&s.__k||t.__k,i=[],zt(t,e=(!o&&s||t).__k=n(mt,null,[e]),a||dt,dt,t.ownerSVGElement!==void 0,!o&&s?[s]:a?null:t.firstChild?ht.call(t.childNodes):null,i,!o&&s?s:a?a.__e:t.firstChild,o),Zs(i,e)}ht=Vs.slice,q={__e:function(e,t){for(var s,o,a;t=t.__;)if((s=t.__c)&&!s.__)try{if((o=s.constructor)&&o.getDerivedStateFromError!=null&&(s.setState(o.getDerivedStateFromError(e)),a=s.__d),s.componentDidCatch!=null&&(s.componentDidCatch(e),a=s.__d),a)return s.__E=s}catch(i){e=i}throw e}},zs=0,re.prototype.setState=function(e,t){var s;s=this.__s!=null&&this.__s!==this.state?this.__s:this.__s=ke({},this.state),typeof e=="function"&&(e=e(ke({},s),this.props)),e&&ke(s,e),e!=null&&this.__v&&(t&&this.__h.push(t),Ns(this))},re.prototype.forceUpdate=function(e){this.__v&&(this.__e=!0,e&&this.__h.push(e),Ns(this))},re.prototype.render=mt,He=[],Ks=typeof Promise=="function"?Promise.prototype.then.bind(Promise.resolve()):setTimeout,ut.__r=0,Ao=0;var ze,Y,Is,pt=0,Ut=[],Rs=q.__b,Bs=q.__r,Fs=q.diffed,Ws=q.__c,Us=q.unmount;function ft(e,t){q.__h&&q.__h(Y,e,pt||t),pt=0;var s=Y.__H||(Y.__H={__:[],__h:[]});return e>=s.__.length&&s.__.push({}),s.__[e]}function E(e){return pt=1,jo(sn,e)}function jo(e,t,s){var o=ft(ze++,2);return o.t=e,o.__c||(o.__=[s?s(t):sn(void 0,t),function(a){var i=o.t(o.__[0],a);o.__[0]!==i&&(o.__=[i,o.__[1]],o.__c.setState({}))}],o.__c=Y),o.__}function R(e,t){var s=ft(ze++,3);!q.__s&&Vt(s.__H,t)&&(s.__=e,s.__H=t,Y.__H.__h.push(s))}function gt(e,t){var s=ft(ze++,4);!q.__s&&Vt(s.__H,t)&&(s.__=e,s.__H=t,Y.__h.push(s))}function G(e){return pt=5,he(function(){return{current:e}},[])}function he(e,t){var s=ft(ze++,7);return Vt(s.__H,t)&&(s.__=e(),s.__H=t,s.__h=e),s.__}function Lo(){Ut.forEach(function(e){if(e.__P)try{e.__H.__h.forEach(ct),e.__H.__h.forEach(Ht),e.__H.__h=[]}catch(t){e.__H.__h=[],q.__e(t,e.__v)}}),Ut=[]}q.__b=function(e){Y=null,Rs&&Rs(e)},q.__r=function(e){Bs&&Bs(e),ze=0;var t=(Y=e.__c).__H;t&&(t.__h.forEach(ct),t.__h.forEach(Ht),t.__h=[])},q.diffed=function(e){Fs&&Fs(e);var t=e.__c;t&&t.__H&&t.__H.__h.length&&(Ut.push(t)!==1&&Is===q.requestAnimationFrame||((Is=q.requestAnimationFrame)||function(s){var o,a=function(){clearTimeout(i),Hs&&cancelAnimationFrame(o),setTimeout(s)},i=setTimeout(a,100);Hs&&(o=requestAnimationFrame(a))})(Lo)),Y=void 0},q.__c=function(e,t){t.some(function(s){try{s.__h.forEach(ct),s.__h=s.__h.filter(function(o){return!o.__||Ht(o)})}catch(o){t.some(function(a){a.__h&&(a.__h=[])}),t=[],q.__e(o,s.__v)}}),Ws&&Ws(e,t)},q.unmount=function(e){Us&&Us(e);var t=e.__c;if(t&&t.__H)try{t.__H.__.forEach(ct)}catch(s){q.__e(s,t.__v)}};var Hs=typeof requestAnimationFrame=="function";function ct(e){var t=Y;typeof e.__c=="function"&&e.__c(),Y=t}function Ht(e){var t=Y;e.__c=e.__(),Y=t}function Vt(e,t){return!e||e.length!==t.length||t.some(function(s,o){return s!==e[o]})}function sn(e,t){return typeof t=="function"?t(e):t}var nn=["agent_ended","agent_started","compacted","control","error","forked","mode_changed","model_changed","renamed","session_resumed"],Gt={file_changed:["before","keys"],compacted:["messages","summary"],rewound:["messages"]};var Pe="/api/v1",_t=class extends Error{constructor(t,s,o){super(o),Object.assign(this,{status:t,kind:s})}},Te={ahead:0,now(){return Date.now()+this.ahead}};function Io(e){let t=Date.parse(e.headers.get("date")||""),s=t+500-Date.now();t&&Math.abs(s)>3e3&&(Te.ahead=s)}function Jt(){let e=crypto.getRandomValues(new Uint8Array(16));return Array.from(e,t=>t.toString(16).padStart(2,"0")).join("")}async function on(e,t,s,o="application/json"){let a={method:e,headers:{accept:o},cache:"no-store"};e!=="GET"&&(Object.assign(a.headers,{"content-type":"application/json",...e==="POST"&&{"idempotency-key":Jt()}}),a.body=JSON.stringify(s||{}));let i=await fetch(Pe+t,a).catch(()=>{throw new _t(0,"network","")});if(Io(i),i.ok)return i;let l=(await i.json().catch(()=>null))?.error||{};throw new _t(i.status,String(l.kind||"internal_error"),String(l.message||i.status))}var yt=async(...e)=>{let t=await on(...e);return t.status===204?null:t.json()},J=e=>yt("GET",e),z=(e,t)=>yt("POST",e,t),bt=(e,t)=>yt("PATCH",e,t),Qt=e=>yt("DELETE",e),Ke=e=>`?${new URLSearchParams(Object.entries(e).filter(([,t])=>t))}`;function kt(e){for(let t of Object.hasOwn(Gt,e.type)?Gt[e.type]:[])delete e.data[t];return e}async function wt(e,t){return(await(await on("GET",`/sessions/${e}/events${Ke(t)}`,null,"application/x-ndjson")).text()).split(`
`).filter(Boolean).map(o=>kt(JSON.parse(o)))}var an="ask_agent",Xt="update_plan",rn=["bash"];var ln=["command","path","pattern","name","identifier","query","url"],Yt={read:"path",write:"path",edit:"path",bash:"command",glob:"path",grep:"path",list_dir:"path",web_fetch:"url",load_skill:"name",ask_agent:"identifier",delegate_task:"identifier",spawn_agent:"name",destroy_agent:"identifier",interrupt_agent:"identifier"},Zt={read:"count",write:"diff",edit:"diff",glob:"count",grep:"count",list_dir:"count",load_skill:"nothing",list_skills:"nothing",update_plan:"whole",ask_agent:"message",delegate_task:"message",send_response:"message",list_team:"nothing",list_models:"nothing"};var es=500,Ro=50,Bo=100,Fo=["messages","turns","calls","failed_calls","questions","denials","file_changes","compactions","errors","resumes"],St=["input_tokens","output_tokens","cache_read_tokens","cache_write_tokens","reasoning_tokens"],je=(e,t)=>Object.fromEntries(e.map(s=>[s,t(s)])),os=()=>0;function $t(){return{seq:0,id:"",name:"",workspace:"",version:"",started:"",updated:"",parent:"",forked_at:0,mode:"",state:"done",halted:!1,agents:[],questions:[],owed:[],budget:null,files:[],usage:je(St,os),cost_usd:0,unpriced:0,counts:je(Fo,os),error:null}}function as(e,t){if(t.seq===null||t.seq===void 0)return e;let s={...e,seq:t.seq,updated:t.ts},o=Object.hasOwn(_n,t.type)&&_n[t.type],a=o&&kn(o[0],t.data);return a&&(o[1](s,t,a,Et(s,t.agent_id)),s.state=Ko(s)),s}function Ge(e,t=$t()){for(let s of e)t=as(t,s);return t}var Le=e=>typeof e=="string",xt=e=>typeof e=="object"&&e!==null&&!Array.isArray(e),bn=e=>[t=>t===null||e(t),null],me=[Le],M=[Le,""],vt=[Number.isInteger,0],cn=bn(Le),ts=bn(Number.isFinite),Wo=[e=>typeof e=="boolean",!1],Uo=[e=>Array.isArray(e)&&e.every(Le),[]],Ho=[()=>!0,null];function kn(e,t){if(!xt(t))return null;let s={};for(let o in e){let a=e[o];if(a===!0)continue;let i=Object.hasOwn(t,o);if(Array.isArray(a)){if(i?!a[0](t[o]):a.length<2)return null;s[o]=i?t[o]:a[1]}else if(s[o]=i||!a.needed?kn(a,i?t[o]:{}):null,!s[o])return null}return s}var dn=je(St,()=>vt),un={provider:M,model:M,id:M,context_window:[Number.isInteger,128e3]},pn={id:M,name:M,workspace:M,version:M,options:{mode:M}},hn={name:M,mode:M},mn=e=>e.id||`${e.provider}/${e.model}`,Ve=(e,t)=>e.length<=t?e:Array.from(e).slice(0,t).join(""),zo=(e,t)=>je(St,s=>e[s]+t[s]),Et=(e,t)=>e.agents.find(s=>s.id===t);function K(e,t,s){let o=e.agents.findIndex(a=>a.id===t&&a.status!=="ended");o<0||(e.agents=e.agents.slice(),e.agents[o]={...e.agents[o],...s})}var ce=(e,t,s)=>{e[t]=e[t].filter(s)};function le(e,t,s=1){e.counts={...e.counts,[t]:e.counts[t]+s}}function Ko(e){if(e.questions.length)return"waiting";let t="",s=!1;for(let o of e.agents)if(o.status!=="ended"){if(o.status!=="idle"||o.unread.length&&!e.halted)return"running";t=t||o.last_turn||"none",s=s||o.unread.length>0}return t==="failed"||t==="capped"?"failed":s||t==="interrupted"||t==="timed_out"?"interrupted":"done"}function wn(e,t){e.agents=e.agents.map(s=>s.waits.some(t)?{...s,waits:s.waits.filter(o=>!t(o))}:s)}function fn(e){wn(e,()=>!0),e.questions=[],ce(e,"owed",t=>t.kind!=="ask")}function ss(e,t){for(let s of t){let o=e.owed.find(i=>i.id===s);if(!o)continue;let a=Et(e,o.from);ce(e,"owed",i=>i!==o),a&&K(e,a.id,{waits:a.waits.filter(i=>i.message_id!==s)})}}function ns(e,t){let s=new Set(Et(e,t)?.waits.map(o=>o.message_id));K(e,t,{waits:[]}),ce(e,"questions",o=>o.agent_id!==t),ce(e,"owed",o=>!s.has(o.id))}function Vo(e){return Le(e)?e:e===null?"None":typeof e=="boolean"?e?"True":"False":typeof e=="number"?String(e):JSON.stringify(e)}function is(e,t){if(!xt(t))return"";let o=[...Object.hasOwn(Yt,e)?[Yt[e]]:[],...ln].find(a=>Object.hasOwn(t,a)&&Le(t[a]));return o?Ve(t[o],200):""}function Go(e){if(!xt(e)||!Array.isArray(e.steps))return[];let t=(s,o)=>Object.hasOwn(s,o)?Vo(s[o]):"";return e.steps.slice(0,Ro).filter(xt).map(s=>({text:Ve(t(s,"text"),200),status:t(s,"status")}))}function gn(e,t,s){e.mode=s.mode||e.mode,e.name=s.name||e.name}var _n={session_started:[pn,(e,t,{options:s,...o})=>Object.assign(e,o,{started:t.ts,mode:s.mode})],session_resumed:[pn,(e,t,s)=>{le(e,"resumes"),fn(e),e.version=s.version||e.version,e.mode=s.options.mode||e.mode,e.halted=!1}],renamed:[hn,gn],mode_changed:[hn,gn],forked:[{session_id:M,at:vt},(e,t,s)=>{fn(e),e.parent=s.session_id,e.forked_at=s.at}],agent_started:[{agent:{needed:!0,id:me,type:M,name:M,role:M,model:un,delegator_id:M}},(e,t,{agent:{id:s,type:o,name:a,role:i,model:l,delegator_id:c}})=>{ce(e,"agents",d=>d.id!==s),e.agents.push({id:s,type:o,name:a,role:i,delegator_id:c,model:mn(l),status:"idle",since:t.ts,stopping:!1,turn:0,steps:0,opened_by:"",last_turn:"",ended:"",reason:"",unread:[],calls:[],waits:[],plan:[],usage:je(St,os),cost_usd:0,unpriced:0,context:0,window:l.context_window,error:null})}],agent_ended:[{status:M,reason:M},(e,t,s)=>{let o=t.agent_id;K(e,o,{status:"ended",since:t.ts,ended:s.status,reason:Ve(s.reason,es),stopping:!1,opened_by:"",unread:[],calls:[],waits:[]}),wn(e,a=>a.on===o),ce(e,"questions",a=>a.agent_id!==o),ce(e,"owed",a=>a.to!==o)}],message:[{id:me,kind:M,from:M,to:M,correlation_id:cn},(e,t,{id:s,kind:o,from:a,to:i,correlation_id:l})=>{let c={id:s,kind:o,from:a,to:i,since:t.ts};le(e,"messages");let d=Et(e,i);d&&K(e,d.id,{unread:[...d.unread,c]}),(o==="ask"||o==="task")&&a!=="user"?e.owed=[...e.owed,c]:o==="response"&&l&&ss(e,[l])}],delivery:[{ids:Uo,state:M},(e,t,s,o)=>{o&&K(e,o.id,{unread:o.unread.filter(a=>!s.ids.includes(a.id))}),s.state!=="delivered"&&ss(e,s.ids)}],wait:[{on:me,message_id:me,deadline:M,call_id:cn},(e,t,s,o)=>{!o||o.opened_by===""||o.stopping||K(e,o.id,{waits:[...o.waits,{...s,call_id:s.call_id||"",since:t.ts}]})}],control:[{action:me,target:M},(e,t,s)=>{let o=s.action==="halt";for(let a of e.agents.filter(i=>o||i.id===s.target))s.action==="destroy"&&K(e,a.id,{ended:"destroyed"}),a.opened_by&&(K(e,a.id,{stopping:!0}),ns(e,a.id));e.halted=e.halted||o}],turn_start:[{message_id:M},(e,t,s)=>{ns(e,t.agent_id||""),le(e,"turns"),e.halted=!1,K(e,t.agent_id,{status:"streaming",since:t.ts,turn:t.turn,steps:0,opened_by:s.message_id,calls:[],error:null,stopping:!1})}],turn_end:[{status:M},(e,t,s,o)=>{o&&(ns(e,o.id),ss(e,e.owed.filter(a=>a.id===o.opened_by&&a.kind==="ask").map(a=>a.id)),K(e,o.id,{status:"idle",since:t.ts,last_turn:s.status,opened_by:"",calls:[],stopping:!1}))}],assistant_message:[{message:{needed:!0,usage:dn}},(e,t,{message:{usage:s}},o)=>{if(!o)return;let a=s.input_tokens+s.cache_read_tokens+s.cache_write_tokens+s.output_tokens;K(e,o.id,{steps:o.steps+1,context:a||o.context,since:t.ts})}],tool_start:[{id:me,name:M,args:Ho},(e,t,{id:s,name:o,args:a},i)=>{if(!i)return;let l={id:s,name:o,subject:is(o,a),since:t.ts,plan:o===Xt?Go(a):[]};K(e,i.id,{status:"executing_tools",since:t.ts,calls:[...i.calls,l]})}],tool_end:[{id:me,name:M,ok:Wo},(e,t,s,o)=>{le(e,"calls"),s.ok||le(e,"failed_calls"),ce(e,"questions",d=>!s.id||d.call_id!==s.id);let a=o?.calls.find(d=>d.id===s.id);if(!a)return;let i=o.calls.filter(d=>d.id!==s.id),l=i.some(d=>d.name===an),c=o.waits.filter(d=>d.call_id===s.id||!d.call_id&&!l).map(d=>d.message_id);K(e,o.id,{status:i.length?"executing_tools":"streaming",since:t.ts,calls:i,waits:o.waits.filter(d=>!c.includes(d.message_id)),plan:a.name===Xt&&s.ok?a.plan:o.plan}),ce(e,"owed",d=>!c.includes(d.id))}],usage:[{usage:dn,cost_usd:ts},(e,t,s,o)=>{let a=i=>({usage:zo(i.usage,s.usage),cost_usd:i.cost_usd+(s.cost_usd||0),unpriced:i.unpriced+(s.cost_usd===null?1:0)});o&&K(e,o.id,a(o)),Object.assign(e,a(e))}],budget:[{limit_usd:ts,spent_usd:ts},(e,t,s)=>{s.limit_usd!==null&&(e.budget=s)}],permission_request:[{id:me,call_id:M,tool:M,text:M,adds:M,reason:M,digest:M,deadline:M},(e,t,s,o)=>{if(le(e,"questions"),o?.stopping)return;let a=je(["text","adds","reason"],i=>Ve(s[i],es));e.questions=[...e.questions,{...s,...a,seq:t.seq||0,agent_id:t.agent_id||"",since:t.ts}]}],permission_decision:[{call_id:M,decision:M,request_id:M},(e,t,s)=>{s.decision==="deny"&&le(e,"denials"),ce(e,"questions",o=>o.id!==s.request_id&&!(s.call_id&&o.call_id===s.call_id))}],file_changed:[{path:me,call_id:M,after_sha256:M},(e,t,{after_sha256:s,...o})=>{let a=e.files.find(l=>l.path===o.path),i={...o,agent_id:t.agent_id||"",changes:(a?.changes||0)+1,removed:s==="",since:t.ts};e.files=[...e.files.filter(l=>l!==a),i].slice(-Bo),le(e,"file_changes")}],compacted:[{tokens_after:vt,window:vt},(e,t,s,o)=>{le(e,"compactions"),o&&K(e,o.id,{context:s.tokens_after,window:s.window||o.window})}],rewound:[{},(e,t)=>K(e,t.agent_id,{context:0})],model_changed:[{model:{needed:!0,...un}},(e,t,s)=>{K(e,t.agent_id,{model:mn(s.model),window:s.model.context_window})}],error:[{kind:M,message:M},(e,t,s)=>{let o={agent_id:t.agent_id||"",kind:s.kind,message:Ve(s.message,es),since:t.ts};le(e,"errors"),K(e,t.agent_id,{error:o}),e.error=o}]};var Jo=new Set([...nn,"checked"]);function Ct(e){let t=[];for(let s of e)ls(t,s);return t}function Ie(e,t,s,o=400){for(let a=e.length-1;a>=Math.max(0,e.length-o);a-=1)if(t(e[a]))return e[a]={...e[a],...s(e[a])},e[a];return null}var rs=e=>t=>t.kind==="call"&&t.id===e;function ls(e,t){let{seq:s,ts:o,agent_id:a,turn:i,type:l}=t,c=typeof t.data=="object"&&t.data!==null?t.data:{},d=(f,m)=>e.push({seq:s,ts:o,agent:a||"",turn:i,kind:f,...m}),p=f=>f.kind==="turn"&&f.agent===a&&f.turn===i,u=(f,m,h)=>({id:String(c.id),name:String(c.name),subject:f,args:m,end:h,asked:null});switch(l){case"message":{let f=String(c.text??"");c.kind==="response"&&Ie(e,m=>m.kind==="said"&&m.agent===c.from,m=>({repeated:m.repeated||m.text===f&&!m.thinking}),8),d(c.from!=="user"?"mail":c.origin&&c.origin!=="user"?"told":"prompt",{mail:String(c.kind),from:String(c.from),to:String(c.to),text:f,images:Array.isArray(c.images)?c.images.length:0});break}case"assistant_message":{let f=Array.isArray(c.message?.parts)?c.message.parts:[],m=(y,k)=>f.filter(g=>g?.type===y).map(g=>String(g.text??"")).join(k),h=m("text",""),_=m("thinking",`
`);return(h||_)&&d("said",{text:h,thinking:_}),h}case"tool_start":d("call",u(is(String(c.name),c.args),c.args,null));break;case"tool_end":{let f={ok:!!c.ok,output:String(c.output??""),exit:c.exit_code??null,ms:c.duration_ms||0,error:c.error?.kind||"",notice:c.notice||""};Ie(e,rs(c.id),()=>({end:f}))||d("call",u("",null,f));break}case"permission_request":Ie(e,rs(c.call_id),()=>({asked:{decision:""}}));break;case"permission_decision":Ie(e,rs(c.call_id),()=>({asked:{decision:c.decision,scope:c.scope}}))||d("note",{type:l,data:c});break;case"turn_start":d("turn",{cost:0,steps:0,tokens:0});break;case"usage":{let{input_tokens:f=0,output_tokens:m=0,cache_read_tokens:h=0,cache_write_tokens:_=0}=c.usage||{};Ie(e,p,({cost:y,steps:k,tokens:g})=>({cost:y===null||c.cost_usd===null?null:y+(c.cost_usd||0),steps:k+1,tokens:g+f+m+h+_}));break}case"turn_end":d("end",{status:String(c.status),began:Ie(e,p,()=>({}),4e3)});break;case"rewound":{let f=Number(c.to);for(let h=e.length-1;h>=0&&e[h].seq>f;h-=1)e[h].agent===a&&(e[h]={...e[h],gone:!0});let m=e[e.length-1];(m?.type!==l||m.data.to!==f)&&d("note",{type:l,data:{to:f}});break}default:Jo.has(l)&&d("note",{type:l,data:c})}return""}var Qo=4e4,vn=500,Xo=1e4,Re=class{constructor(t,{state:s,...o}){Object.assign(this,{path:t,state:s,on:o,retry:vn,closed:!1}),this.wake=()=>{document.visibilityState==="visible"&&this.isSilent()&&this.open()},this.back=()=>this.open(),document.addEventListener("visibilitychange",this.wake),addEventListener("online",this.back),this.watch=setInterval(()=>{this.source&&this.isSilent()&&this.fail()},5e3),this.open()}isSilent(){return Date.now()-this.heard>Qo}open(){if(this.closed)return;this.drop(),this.heard=Date.now();let t=new EventSource(Pe+this.path());this.source=t;let s=(o,a)=>t.addEventListener(o,i=>{this.heard=Date.now(),this.retry=vn,a(i)});s("open",()=>this.state("live")),s("ping",()=>{}),s("end",()=>this.end());for(let[o,a]of Object.entries(this.on))s(o,i=>a(JSON.parse(i.data)));t.onerror=()=>{this.source===t&&this.fail(t.readyState===EventSource.CLOSED)}}async fail(t=!1){if(this.drop(),t&&await this.isOver()){this.end();return}this.closed||(this.state("lost"),clearTimeout(this.timer),this.timer=setTimeout(()=>this.open(),this.retry),this.retry=Math.min(this.retry*2,Xo))}async isOver(){let t=new AbortController;try{return(await fetch(Pe+this.path(),{headers:{accept:"text/event-stream"},signal:t.signal,cache:"no-store"})).status===204}catch{return!1}finally{t.abort()}}drop(){clearTimeout(this.timer),this.source?.close(),this.source=null}end(){this.close(),this.state("ended")}close(){this.closed=!0,this.drop(),clearInterval(this.watch),document.removeEventListener("visibilitychange",this.wake),removeEventListener("online",this.back)}};var Ot=class{constructor(t,s){this.state=t,this.draw=s,this.queued=!1}set(t){Object.assign(this.state,t),this.touch()}touch(){this.queued||(this.queued=!0,requestAnimationFrame(()=>{this.queued=!1,this.draw(this.state)}))}},Q=500,Yo=250,Zo=65536,ea=6e4,xn=({text:e="",thinking:t="",output:s={}})=>({text:e,thinking:t,output:new Map(Object.entries(s)),note:""}),Je=class e{constructor(t,s){Object.assign(this,{id:t,touch:s,status:"loading",problem:null,connection:"connecting",lostSince:0,board:$t(),events:[],first:0,blocks:[],facts:0,lanes:0,words:0,live:new Map,replay:null,older:!1,checkpoints:new Map([[0,$t()]]),pages:new Map,finished:"",offline:!1})}static of(t,s){let o=new e(s.id||"",()=>{});return Object.assign(o,{offline:!0,status:"ready",first:1,events:t.map(kt)}),o.board=Ge(o.events),o.rebuild(),o}async open(){try{let t=await J(`/sessions/${this.id}/board`),s=Math.max(0,Math.floor((t.seq-1)/Q)-1)*Q,o=t.seq?await wt(this.id,{after:s,limit:4*Q}):[];if(this.closed)return;this.first=s+1,this.events=o,this.board=Ge(o.filter(a=>a.seq>t.seq),t),this.rebuild(),this.status="ready",this.follow()}catch(t){Object.assign(this,{status:"error",problem:t})}this.touch()}follow(){this.hide=()=>{clearTimeout(this.hiding),document.visibilityState==="hidden"?this.hiding=setTimeout(()=>this.pause(),ea):this.stream||this.connect()},document.addEventListener("visibilitychange",this.hide),this.connect()}pause(){this.stream?.close(),this.stream=null}connect(){this.closed||(this.stream=new Re(()=>`/sessions/${this.id}/events?after=${this.board.seq}`,{message:t=>this.hear(t),live:t=>this.join(t),reset:()=>this.onreset(),state:t=>{t==="lost"&&this.connection!=="lost"&&(this.lostSince=Te.now()),this.connection=t,this.touch()}}))}wake(){this.connection==="ended"&&this.connect()}hear(t){t.seq===null?this.hearDelta(t):t.seq>this.board.seq&&this.hearFact(kt(t))}hearFact(t){this.board=as(this.board,t),t.seq%Q===0&&this.checkpoints.set(t.seq,this.board),this.events.push(t);let s=ls(this.blocks,t);s&&(this.finished=s),this.facts+=1;let{agent_id:o,type:a,data:i}=t,l=this.live.get(o);l&&((a==="assistant_message"||a==="turn_end")&&Object.assign(l,{text:"",thinking:"",note:""}),a==="tool_end"&&l.output.delete(i.id),(a==="turn_end"||a==="agent_ended")&&this.live.delete(o)),this.drawLanes(),this.touch()}drawLanes(){if(this.waiting)return;let t=()=>{this.waiting=0,this.drawn=Date.now(),this.lanes+=1,this.touch()},s=(this.drawn||0)+Yo-Date.now();s<=0?t():this.waiting=setTimeout(t,s)}hearDelta({agent_id:t,type:s,data:o}){this.live.has(t)||this.live.set(t,xn({}));let a=this.live.get(t),i=(l,c)=>(l+c).slice(-Zo);if(s==="text_delta")a.text=i(a.text,o.text);else if(s==="thinking_delta")a.thinking=i(a.thinking,o.text);else if(s==="tool_progress")a.output.set(o.id,i(a.output.get(o.id)||"",o.text));else if(s==="compacting")a.note="compacting";else if(s==="status"&&o.component==="model")o.state==="discarded"&&Object.assign(a,{text:"",thinking:""}),a.note=o.state==="discarded"||o.detail?`${o.state} ${o.detail||""}`.trim():"";else return;this.words+=1,this.touch()}join(t){this.live=new Map(Object.entries(t).map(([s,o])=>[s,xn(o)])),this.words+=1,this.touch()}rebuild(){this.blocks=Ct(this.events),this.facts+=1,this.lanes+=1}async loadOlder(t=this.first-Q){if(!(this.older||this.first<=1||this.offline)){this.older=!0,this.touch();try{let s=Math.max(0,Math.floor((Math.max(1,t)-1)/Q)*Q),o=[],a=s;for(;a<this.first-1;){let i=await wt(this.id,{after:a,before:Math.min(this.first,a+5001),limit:5e3});if(!i.length)break;o.push(...i),a=i[i.length-1].seq}this.events=[...o,...this.events],this.first=s+1,this.rebuild()}finally{this.older=!1,this.touch()}}}async show(t){let s=t===null||t>=this.board.seq?null:Math.max(1,t);this.asked=s;let o=null;if(s!==null){let a=Math.floor((s-1)/Q)*Q,[i,l]=await Promise.all([this.findCheckpoint(a),this.findPage(a)]);if(this.asked!==s||this.closed)return;let c=l.filter(d=>d.seq<=s);o={seq:s,board:Ge(c,i),events:[...this.pages.get(a-Q)||[],...c]}}this.replay=o,this.lanes+=1,this.touch()}async findCheckpoint(t){if(!this.checkpoints.has(t)){let s=t;for(;s>0&&!this.checkpoints.has(s);)s-=Q;let o=this.first-1<=s&&this.events.length;this.checkpoints.set(t,o?Ge(this.find(s,t),this.checkpoints.get(s)):await J(`/sessions/${this.id}/board?at=${t}`))}return this.checkpoints.get(t)}find(t,s){return this.events.filter(o=>o.seq>t&&o.seq<=s)}async findPage(t){return this.first-1<=t?this.find(t,t+Q):(this.pages.has(t)||this.pages.set(t,await wt(this.id,{after:t,before:t+Q+1,limit:Q})),this.pages.get(t))}close(){this.closed=!0,this.pause(),clearTimeout(this.waiting),clearTimeout(this.hiding),this.hide&&document.removeEventListener("visibilitychange",this.hide)}};var ta="allowAlways allowOnce allowSession answer budget by by.agent by.call by.turn call.command call.exit call.output call.runs cancel card.calls card.cost card.fresh card.model card.noTurn card.output card.read card.role card.tokens card.unread card.used card.waits card.window card.written changes.empty changes.files changes.lost changes.turn changes.undo changes.undone check.error check.ok check.warning close code code.of config.show config.title conn.ended conn.lost conv.all conv.begin conv.edit conv.empty conv.filter conv.find conv.forget conv.goOn conv.images conv.none conv.older conv.rewind conv.steps conv.thinking conv.toEnd cost.none cost.unknown cost.whole count.calls count.denials count.errors count.failed count.files count.mail decision.allow decision.deny deny denyReason diff diff.added diff.hidden diff.removed doctor.run doctor.title door.bad door.code door.enter door.title door.words error.away export fold fork fork.made from help inbox.adds inbox.asks inbox.call inbox.count inbox.empty inbox.expires inbox.hidden inbox.in inbox.late inbox.lost inbox.more inbox.none inbox.noRule inbox.of inbox.place inbox.reason inbox.rule inbox.shown inbox.why inbox.wider keys.close keys.compose keys.find keys.help keys.pan keys.rows keys.stop keys.zoom kind lanes.asks lanes.hint lanes.label lanes.mail lanes.older lanes.table lanes.tool lanes.waits lanes.work language.en language.es live.compacting loading look.auto look.dark look.keys look.light look.notify look.theme look.title look.words mail.ask mail.prompt mail.response mail.task md.image md.table mode.ask mode.full mode.label mode.plan mode.read-only mode.workspace models.busy models.empty models.price models.test models.title models.used models.window models.works more nav.changes nav.conversation nav.inbox nav.label nav.session nav.sessions nav.settings nav.team nobody note.checked note.compacted note.destroyed note.ended note.forked note.halted note.interrupted note.mode note.model note.renamed note.resumed note.rewound note.started note.told plan replay.at replay.back replay.label replay.live replay.on replay.pause replay.place replay.play replay.shown retry say.busy say.hint say.idle say.label say.queue say.send say.steer say.team say.to scope.once scope.rule scope.session search.label search.none session.done session.failed session.interrupted session.running session.unknown session.waiting sessions.acts sessions.blank sessions.delete sessions.empty sessions.find sessions.fork sessions.held sessions.new sessions.none sessions.origin sessions.rename sessions.sure sessions.where set.leave set.server set.version set.workspace setup.address setup.change setup.default setup.done setup.first setup.go setup.have setup.kept setup.key setup.model setup.name setup.other setup.provider setup.title setup.where setup.words showAll since skip start.budget start.busy start.default start.example start.free start.go start.none start.prompt state state.asks state.ended state.error state.failed state.idle state.stopping state.thinking state.unread state.waits step.completed step.in_progress step.pending stop team.agents team.empty team.label teams.check teams.empty teams.ok teams.title time time.ago time.now to tokens turn.capped turn.completed turn.failed turn.interrupted turn.timed_out undo.commands undo.done undo.look undo.none undo.plan undo.take undo.tick why why.on you".split(" "),cs=e=>Object.fromEntries(e.split(`
`).map((t,s)=>[ta[s],t])),ds=cs(`Always allow
Allow once
Allow in this session
Answer
{spent} of {limit} spent
Group by
Agent
Call
Turn
whole command
exit {code}
Output of the call
running
Cancel
Running
Cost
fresh
Change model…
none yet
output
cache read
Role
Tokens
Unread
{used} of {all} tokens
Waits for
Window
cache written
No file has been changed in this session.
{n} file|{n} files
The log can't tell what this call made of the file.
turn {n}
an undo
undone
Error
Fine
Warning
Close
Code
Code, {language}
{n} key in force|{n} keys in force
Configuration
This session was closed. What is shown stays; a message opens it again.
No connection for {span}. What is shown can still be read; it goes on by itself.
All
Here it begins.
Edit and go on from here
Nothing has been said yet. Say what is to be done.
Show one agent
Find in this session
Everyone forgets what came after this message. Files stay as they are.
Go on from here
{n} picture attached|{n} pictures attached
Nothing here matches.
Reading what was before…
Only go back
{n} step|{n} steps
thinking
To the newest ↓
$ ?
price unknown
What this session has cost
call|calls
denial|denials
error|errors
failed
file|files
message|messages
allowed
denied
Deny
Deny with this reason
diff
added:
{n} more line is not shown.|{n} more lines are not shown.
removed:
Check everything
What works here
This code is not valid, or no longer. A code is good once, for a minute.
One-time code
Enter
This page is for whoever started it
It opens with a one-time code. This gives you a fresh one:
The server does not answer. Look whether “planck serve” still runs.
Export {format}
show less
Fork
is a session of its own now
From
Keys
Adds
{agent} asks
What is to be done
{n} question waits|{n} questions wait
Nobody asks you anything.
Expires
{n} line is not in this preview. The call above is whole.|{n} lines are not in this preview. The call above is whole.
in {span}
Somebody answered this already, or it is no longer asked.
The questions can't be read without a connection.
More answers
nothing
This can only be answered for once.
Question of {agent}
“Always” is written to {place}.
Why not (the agent reads it)
For longer than once, this would be allowed:
what it would do
Why
wider:
Close, or leave the input
Write a message
Find
This help
Pan the lanes
Go through agents or changes
Stop every turn
Zoom the lanes, 0 shows all
Kind
asks you
Point at a bar to read it · ← → pan · + − zoom
Lanes of the team over time
Newest messages between agents
older
What each agent does
tool
waits
model
English
Español
making room in its window…
Loading…
As the system
Dark
Single-key shortcuts
Light
Notify me of questions while this tab is hidden
Theme
This page
Language
ask
prompt
response
task
picture: {alt}
Table
ask
full
Permissions
plan
read-only
workspace
Testing…
No model can be used yet.
{input} in, {output} out per million tokens
Test
Models
in use
window {n}
answers in {time}
Show more
Changes
Conversation
Inbox
Main
This session
Sessions
Settings
Team
nobody
Checked: {status}
{name}'s history was made shorter: {before} → {after} tokens
{name} was told to end
{name} ended {reason}
Forked from another session at event {seq}
Everything was stopped
{name} was interrupted
Permissions are “{mode}” from here on
{name} goes on with {model}
Renamed to {name}
Opened again
Everyone was taken back to event {seq}
{name} joined, on {model}
Told to {name}:
Plan
event {seq} of {head}
One event back
Replay
live
One event on
Pause
Place in the log
Play from here
You see event {seq}, not what is now.
Try again
Steer the team…
Enter sends, Ctrl+Enter queues, Shift+Enter is a new line
Say what is to be done…
Your message
Queue
Send
Steer
to the team
Send to
once
always
this session
Said in sessions
No sentence says this.
done
failed
interrupted
running
can't be read
asks you
Actions for {name}
nothing asked yet
Delete…
No sessions yet. Say above what is to be done.
Find a session, or words in one
fork of {name} at event {seq}
open
New session
No session is called this or began with it.
Where it was forked
Rename
Delete for good
Open in process {pid} on {host}
Sign out of this browser
Server
Version
Workspace
Address
Set up another
the vendor's default
It answers, and is kept as the default model.
Set up a model
Test and keep
Sessions start with
Goes to a file only you can read, and is never shown again
Key
Model
Name
Another server…
Provider
Default model
Of a server that speaks the OpenAI dialect
One small question is sent before anything is kept.
show all {n} lines
Since
Skip to the content
Budget (USD)
Starting…
default
The tests fail. Find out why, and mend it.
no limit
Start
There is no model yet. Set one up first; it takes a minute.
What is to be done?
State
asks you
ended
failed: {kind}
failed
idle
stopping
thinking
{n} unread
waits for {name}
done
at work
to do
Stop
Agents
No agent has started yet.
Team over time
Check
No teams here. “planck teams new” makes one.
ready
Teams
Time
{span} ago
just now
To
{n} tokens
limit reached
completed
failed
interrupted
out of time
{n} command ran here and can't be undone|{n} commands ran here and can't be undone
{n} file is as it was. To undo that:|{n} files are as they were. To undo that:
Preview undo
There is nothing to take back.
What an undo would do now
Undo {n} file|Undo {n} files
Tick what is to be taken back.
Why nothing moves
waits for
you`);var Sn=cs(`Permitir siempre
Permitir una vez
Permitir en esta sesión
Responder
{spent} de {limit} gastados
Agrupar por
Agente
Llamada
Turno
orden completa
salida {code}
Salida de la llamada
en curso
Cancelar
En curso
Coste
nuevos
Cambiar modelo…
ninguno todavía
salida
caché leída
Papel
Tokens
Sin leer
{used} de {all} tokens
Espera a
Ventana
caché escrita
No se ha cambiado ningún archivo en esta sesión.
{n} archivo|{n} archivos
El registro no dice qué hizo esta llamada con el archivo.
turno {n}
deshace
deshecho
Error
Bien
Aviso
Cerrar
Código
Código, {language}
{n} clave en vigor|{n} claves en vigor
Configuración
Esta sesión se cerró. Lo mostrado se conserva; un mensaje la abre de nuevo.
Sin conexión desde hace {span}. Lo mostrado se puede leer; seguirá por sí sola.
Todos
Aquí empieza.
Editar y seguir desde aquí
Aún no se ha dicho nada. Di qué hay que hacer.
Mostrar un agente
Buscar en esta sesión
Todos olvidan lo que vino después de este mensaje. Los archivos quedan como están.
Seguir desde aquí
{n} imagen adjunta|{n} imágenes adjuntas
Nada coincide.
Leyendo lo anterior…
Solo volver atrás
{n} paso|{n} pasos
razonamiento
A lo más reciente ↓
$ ?
precio desconocido
Lo que ha costado esta sesión
llamada|llamadas
denegación|denegaciones
error|errores
fallidas
archivo|archivos
mensaje|mensajes
permitido
denegado
Denegar
Denegar con este motivo
diferencias
añadido:
{n} línea más no se muestra.|{n} líneas más no se muestran.
quitado:
Comprobar todo
Qué funciona aquí
Este código no vale, o ya no. Un código sirve una vez, durante un minuto.
Código de un solo uso
Entrar
Esta página es de quien la inició
Se abre con un código de un solo uso. Esto da uno nuevo:
El servidor no responde. Mira si «planck serve» sigue en marcha.
Exportar {format}
mostrar menos
Bifurcar
es ahora una sesión propia
De
Teclas
Añade
{agent} pregunta
Qué se va a hacer
{n} pregunta espera|{n} preguntas esperan
Nadie te pregunta nada.
Caduca
{n} línea no está en esta vista previa. La llamada de arriba está completa.|{n} líneas no están en esta vista previa. La llamada de arriba está completa.
en {span}
Alguien ya respondió, o ya no se pregunta.
Sin conexión no se pueden leer las preguntas.
Más respuestas
nada
Esto solo puede responderse una vez.
Pregunta de {agent}
«Siempre» se escribe en {place}.
Por qué no (el agente lo lee)
Por más de una vez, se permitiría:
qué haría
Por qué
más amplio:
Cerrar, o salir del campo
Escribir un mensaje
Buscar
Esta ayuda
Desplazar los carriles
Recorrer agentes o cambios
Detener todos los turnos
Ampliar los carriles, 0 muestra todo
Clase
te pregunta
Señala una barra para leerla · ← → mover · + − ampliar
Carriles del equipo en el tiempo
Mensajes más recientes entre agentes
antes
Qué hace cada agente
herramienta
espera
modelo
English
Español
haciendo sitio en su ventana…
Cargando…
Como el sistema
Oscuro
Atajos de una tecla
Claro
Avisarme de preguntas con esta pestaña oculta
Tema
Esta página
Idioma
pregunta
encargo
respuesta
tarea
imagen: {alt}
Tabla
preguntar
total
Permisos
plan
solo lectura
espacio de trabajo
Probando…
Aún no hay ningún modelo utilizable.
{input} entrada, {output} salida por millón de tokens
Probar
Modelos
en uso
ventana {n}
responde en {time}
Mostrar más
Cambios
Conversación
Bandeja
Principal
Esta sesión
Sesiones
Ajustes
Equipo
nadie
Comprobado: {status}
El historial de {name} se acortó: {before} → {after} tokens
Se pidió a {name} que terminara
{name} terminó {reason}
Bifurcada de otra sesión en el evento {seq}
Se detuvo todo
Se interrumpió a {name}
Los permisos son «{mode}» desde aquí
{name} sigue con {model}
Ahora se llama {name}
Abierta de nuevo
Todos volvieron al evento {seq}
{name} se unió, con {model}
Dicho a {name}:
Plan
evento {seq} de {head}
Un evento atrás
Reproducción
en vivo
Un evento adelante
Pausa
Lugar en el registro
Reproducir desde aquí
Ves el evento {seq}, no el presente.
Reintentar
Orienta al equipo…
Intro envía, Ctrl+Intro pone en cola, Mayús+Intro es una línea nueva
Di qué hay que hacer…
Tu mensaje
Poner en cola
Enviar
Orientar
al equipo
Enviar a
una vez
siempre
esta sesión
Dicho en las sesiones
Ninguna frase dice esto.
hecha
fallida
interrumpida
en marcha
ilegible
te pregunta
Acciones para {name}
sin encargo todavía
Borrar…
Aún no hay sesiones. Di arriba qué hay que hacer.
Buscar una sesión, o palabras en ella
bifurcación de {name} en el evento {seq}
abierta
Nueva sesión
Ninguna sesión se llama o empezó así.
Dónde se bifurcó
Renombrar
Borrar para siempre
Abierta en el proceso {pid} de {host}
Cerrar sesión en este navegador
Servidor
Versión
Espacio de trabajo
Dirección
Configurar otro
el modelo por defecto
Responde, y queda como modelo por defecto.
Configura un modelo
Probar y guardar
Las sesiones empiezan con
Va a un archivo que solo tú puedes leer, y no se muestra más
Clave
Modelo
Nombre
Otro servidor…
Proveedor
Modelo por defecto
De un servidor que habla el dialecto de OpenAI
Se envía una pregunta pequeña antes de guardar nada.
mostrar las {n} líneas
Desde hace
Saltar al contenido
Presupuesto (USD)
Empezando…
por defecto
Las pruebas fallan. Averigua por qué y arréglalo.
sin límite
Empezar
Aún no hay modelo. Configura uno primero; es un minuto.
¿Qué hay que hacer?
Estado
te pregunta
terminado
falló: {kind}
falló
en reposo
parando
pensando
{n} sin leer
espera a {name}
hecho
en curso
pendiente
Detener
Agentes
Ningún agente ha empezado.
El equipo en el tiempo
Comprobar
No hay equipos. «planck teams new» crea uno.
listo
Equipos
Hora
hace {span}
ahora mismo
A
{n} tokens
límite alcanzado
completado
fallido
interrumpido
sin tiempo
se ejecutó {n} orden que no se puede deshacer|se ejecutaron {n} órdenes que no se pueden deshacer
{n} archivo está como antes. Para deshacerlo:|{n} archivos están como antes. Para deshacerlo:
Ver qué desharía
No hay nada que deshacer.
Qué haría deshacer ahora
Deshacer {n} archivo|Deshacer {n} archivos
Marca lo que hay que deshacer.
Por qué nada avanza
espera a
tú`);var $n={en:ds,es:Sn},us=Object.keys($n),we="en",En,Cn,Tt,ps,On,Tn;function hs(e){we=[e,...globalThis.navigator?.languages||[]].map(o=>String(o||"").slice(0,2)).find(o=>us.includes(o))||"en";let s=o=>new Intl.DateTimeFormat(we,{hourCycle:"h23",...o});return En=new Intl.PluralRules(we),Cn=new Intl.NumberFormat(we),Tt=new Intl.NumberFormat(we,{maximumFractionDigits:1}),ps=s({hour:"2-digit",minute:"2-digit"}),On=s({dateStyle:"medium",timeStyle:"medium"}),Tn=s({day:"numeric",month:"short"}),we}hs("");function r(e,t={}){let[s,o=s]=($n[we][e]??e).split("|");return(En.select(t.n)==="one"?s:o).replace(/\{(\w+)\}/g,(a,i)=>{let l=t[i];return typeof l=="number"?U(l):String(l??"")})}var V=(e,t)=>Object.hasOwn(ds,`${e}.${t}`)?r(`${e}.${t}`):t,U=e=>Cn.format(e);function ve(e){return e<1e3?U(e):e<999950?`${Tt.format(e/1e3)}k`:`${Tt.format(e/1e6)}M`}function X(e){let t=e>=.1||e===0?2:4;return`$${new Intl.NumberFormat(we,{minimumFractionDigits:t,maximumFractionDigits:t}).format(e)}`}var qt=({cost_usd:e,unpriced:t})=>t?e?`≥ ${X(e)}`:r("cost.none"):X(e);function ae(e){let t=Math.max(0,Math.floor(e/1e3)),[s,o]=t<90?[1,"s"]:t<5400?[60,"min"]:t<172800?[3600,"h"]:[86400,"d"];return`${U(Math.floor(t/s))} ${o}`}var Qe=e=>e<1e4?`${Tt.format(e/1e3)} s`:ae(e),xe=e=>e?ps.format(new Date(e)):"",qe=e=>e?On.format(new Date(e)):"";function ms(e,t){let s=Date.parse(e);return s?t-s<6e4?r("time.now"):t-s<12*36e5?r("time.ago",{span:ae(t-s)}):`${Tn.format(s)} ${ps.format(s)}`:""}var sa=/[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu,na=/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-Z=>^-~]/g,oa=/^[\x20-\x7e\n\t]*$/;function b(e){let t=typeof e=="string"?e:e==null?"":String(e);return oa.test(t)?t:t.replace(/\r\n/g,`
`).replace(sa,(s,o,a)=>{if(s==="‍"&&/\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*$/u.test(a.slice(Math.max(0,o-8),o)))return s;let i=s.codePointAt(0);return i<256?`\\x${i.toString(16).padStart(2,"0")}`:`\\u${i.toString(16).padStart(4,"0")}`})}var Me=e=>b(String(e??"").replace(na,"").replace(/\r\n?/g,`
`));function S(e,t){let s=b(e).replace(/\s+/g," ").trim();if(s.length<=t)return s;let o=Array.from(s);if(o.length<=t)return s;let a=Math.floor((t-1)/3);return`${o.slice(0,t-1-a).join("")}…${a?o.slice(-a).join(""):""}`}var qn=8,Z=(e,t)=>{if(t==="user")return r("you");let s=e.agents.find(o=>o.id===t);return s?s.name||s.type:t||r("nobody")},Mt=(e,t)=>{if(t==="user")return"you";let s=e.agents.findIndex(o=>o.id===t);return s<0?"none":`${s%qn}${s>=qn?" ring":""}`},aa={work:"●",tool:"●",waits:"◌",asks:"▲",idle:"○",failed:"✗",ended:"–"};function At(e,t){let s=e.questions.find(a=>a.agent_id===t.id),o=(a,i,l=t.since)=>({kind:a,mark:aa[a],word:i,since:l});if(t.status==="ended")return t.ended==="failed"?o("failed",r("state.failed")):o("ended",r("state.ended"));if(t.stopping)return o("work",r("state.stopping"));if(s)return o("asks",r("state.asks"),s.since);if(t.waits.length&&t.status!=="idle"){let a=[...new Set(t.waits.map(i=>Z(e,i.on)))];return o("waits",r("state.waits",{name:S(a.join(", "),28)}),t.waits[0].since)}if(t.status==="executing_tools"&&t.calls.length){let a=t.calls[t.calls.length-1];return o("tool",S(`${a.name} ${a.subject}`,48),a.since)}return t.status!=="idle"?o("work",r("state.thinking")):t.error&&t.last_turn==="failed"?o("failed",r("state.error",{kind:t.error.kind})):t.last_turn==="capped"?o("failed",r("turn.capped")):t.unread.length?o("idle",r("state.unread",{n:t.unread.length})):o("idle",r("state.idle"))}var ie=e=>e.status!=="ended"&&e.status!=="idle";function Mn(e){let t=[];for(let o of e.agents){let a=[o.id],i=o;for(;i&&ie(i);){let d=e.questions.some(p=>p.agent_id===i.id)?"user":i.waits[0]?.on;if(!d||a.includes(d))break;a.push(d),i=e.agents.find(p=>p.id===d)}let l=a[a.length-1]==="user",c=t[t.length-1]==="user";(l===c?a.length>t.length:l)&&(t=a)}let s=e.agents.find(o=>o.id===t[t.length-1]);return t.length>1&&!(s&&ie(s)&&!s.waits.length)?t:[]}var An={running:"●",waiting:"▲",done:"✓",failed:"✗",interrupted:"◼","":"?"};var Dt=["read-only","plan","ask","workspace","full"];function fe({board:e,id:t,length:s=28}){let o=Z(e,t);return n("bdi",{class:"name",title:b(o)},S(o,s))}function ge({board:e,id:t}){let s=Array.from(S(Z(e,t),40))[0]||"?";return n("span",{class:`badge hue-${Mt(e,t)}`,"aria-hidden":"true"},s.toUpperCase())}var Be=e=>[n(ge,{...e}),n(fe,{...e})],ee=({is:e})=>n("span",{class:"mark","aria-hidden":"true"},e),Nt=({added:e,removed:t})=>n("span",{class:"num changed"},n("span",{class:"ok"},"+",U(e))," ",n("span",{class:"error"},"−",U(t))),fs=({ts:e})=>n("time",{class:"num muted",datetime:b(e),title:qe(e)},xe(e)),Xe=({word:e,mark:t,...s})=>n("button",{class:"icon","aria-label":r(e),...s},t),Ye=({act:e})=>n(Xe,{word:"close",mark:"×",onClick:e}),Ze=()=>n("a",{class:"button ask",href:"#/inbox"},r("answer")),ne=({words:e,children:t})=>n("div",{class:"empty"},n("p",null,e),t),te=({title:e,children:t,...s})=>n("details",{...s},n("summary",null,e),t),Fe=({children:e,label:t})=>n("pre",{class:"output",tabindex:"0","aria-label":t},e),_e=({rows:e,children:t})=>n("dl",{class:"facts"},e.filter(Boolean).map(([s,o,a],i)=>[n("dt",{key:i},s),n("dd",{...a},o)]),t),Se=e=>t=>e(t.target.value),de=e=>t=>(t.preventDefault(),e(Object.fromEntries(new FormData(t.target)),t.target)),$e=({label:e,children:t,hint:s})=>n("label",{class:"field"},n("span",{class:"label"},e),t,s&&n("span",{class:"hint"},s)),et=({label:e,set:t,...s})=>n("label",{class:"check"},n("input",{type:"checkbox",onChange:o=>t(o.target.checked),...s})," ",e);function oe({label:e,hidden:t,of:s,say:o=c=>S(c,48),none:a,set:i,...l}){let c=n("select",{title:t&&e,onChange:i&&Se(i),...l},a&&n("option",{value:""},a),s.map(d=>n("option",{key:d,value:d},o(d))));return t?n("label",{class:"choice"},n("span",{class:"hidden"},e),c):n($e,{label:e},c)}function se(){let[e,t]=E(!1);return[e,async s=>{t(!0);try{return await s()}finally{t(!1)}}]}function tt({since:e,now:t}){let s=t-Date.parse(e);return Number.isFinite(s)?n("span",{class:"num",title:qe(e)},ae(s)):null}function Pt({board:e,row:t,now:s}){let o=At(e,t),a=["work","tool","waits","asks"].includes(o.kind);return n("span",{class:`state ${o.kind}`,title:b(o.word)},n(ee,{is:o.mark})," ",n("span",{class:"word"},o.word),a&&[" ",n(tt,{since:o.since,now:s})])}var jt=({state:e})=>n("span",{class:`state s-${e||"unknown"}`},n(ee,{is:An[e]||"?"})," ",n("span",{class:"word"},V("session",e||"unknown")));function st(){let[e,t]=E(!1);return R(()=>{let s=setTimeout(()=>t(!0),200);return()=>clearTimeout(s)},[]),n("div",{class:"skeleton",role:"status"},n("span",{class:"hidden"},r("loading")),e&&[0,1,2,3].map(s=>n("div",{class:"bar",key:s})))}function ye({problem:e,retry:t}){let s=e?.kind||"internal_error",o=s==="network"&&!e.message?r("error.away"):b(e?.message||String(e));return n("div",{class:"problem",role:"alert"},n(ee,{is:"✗"}),n("div",null,n("p",null,n("strong",{class:"code"},b(s))," ",o),t&&n("button",{onClick:t},r("retry"))))}var ue=({of:e,retry:t})=>n("div",{class:"pad"},e.status==="loading"?n(st,null):n(ye,{problem:e.problem,retry:t}));function gs({text:e,lines:t=3,tail:s=!0,label:o}){let[a,i]=E(!1),l=e.replace(/\n+$/,"").split(`
`),c=l.length<=t+1&&e.length<2e3,d=(s?l.slice(-t):l.slice(0,t)).map(p=>p.length>400?`${p.slice(0,400)}…`:p);return n("div",null,n(Fe,{label:o},(a||c?l:d).join(`
`)),!c&&n("button",{class:"link","aria-expanded":a,onClick:()=>i(!a)},a?r("fold"):r("showAll",{n:l.length})))}function Lt(e){let t=[...e.currentTarget.querySelectorAll("[data-stop]:not(:disabled)")],s=t.indexOf(e.target.closest("[data-stop]")),o={ArrowDown:s+1,ArrowUp:s-1,Home:0,End:t.length-1}[e.key];if(o===void 0)return;e.preventDefault();let a=t[Math.min(Math.max(o,0),t.length-1)];for(let i of t)i.tabIndex=i===a?0:-1;a?.focus()}var ia={sessions:"M2 4h12M2 8h12M2 12h8",inbox:"M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",settings:"M2 5h6M12 5h2M2 11h2M8 11h6M10 3v4M6 9v4"},Dn=({size:e,path:t})=>n("svg",{width:e,height:e,viewBox:`0 0 ${e} ${e}`,"aria-hidden":"true"},n("path",{d:t})),Nn=e=>e?"page":void 0;function Pn({state:e,act:t}){let{sessionStore:s,route:o,inbox:a}=e,i=s?.status==="ready"&&s.board;return n("header",{class:"topbar"},n("a",{class:"brand",href:"#/sessions","aria-label":r("nav.sessions")},n(Dn,{size:20,path:"M3 5h9M6 10h11M3 15h6"})),i&&n("div",{class:"where"},n("h1",{class:"clip",title:b(i.name)},n("bdi",null,S(i.name||s.id,32))),n(jt,{state:i.state})),s?n("nav",{class:"tabs","aria-label":r("nav.session")},["team","conversation","changes"].map(l=>n("a",{key:l,href:`#/s/${s.id}/${l}`,"aria-current":Nn(o.tab===l)},r(`nav.${l}`)))):n("h1",{class:"clip"},r(`nav.${o.screen}`)),n("span",{class:"grow"}),i&&[n(oe,{label:r("mode.label"),hidden:!0,of:[...new Set([i.mode,...Dt])].filter(Boolean),say:l=>V("mode",l),value:i.mode,set:l=>t.changeMode(l)}),n(ra,{board:i})],(i.state==="running"||i.state==="waiting")&&n("button",{class:"stop",onClick:()=>t.interrupt("")},r("stop")),n("nav",{class:"global","aria-label":r("nav.label")},Object.entries(ia).map(([l,c])=>{let d=l==="inbox"&&a.items.length;return n("a",{key:l,class:d?"has-mail":"",href:`#/${l}`,"aria-current":Nn(o.screen===l)},n(Dn,{size:16,path:c}),n("span",{class:"label"},r(`nav.${l}`)),d>0&&n("span",{class:"pill num","aria-label":r("inbox.count",{n:d})},U(d)))})))}function ra({board:e}){let{limit_usd:t,spent_usd:s=0}=e.budget||{};if(!t)return n("span",{class:"budget num",title:e.unpriced?r("cost.unknown"):r("cost.whole")},qt(e));let o=r("budget",{spent:X(s||0),limit:X(t)});return n("span",{class:`budget num${s>=.8*t?" near":""}`,title:o},n("progress",{max:"1",value:Math.min(1,s/t),"aria-label":o}),X(s||0)," ",n("span",{class:"muted"},"/ ",X(t)))}function jn({sessionStore:e,inbox:t,now:s}){if(e?.connection==="ended")return n("div",{class:"bar",role:"status"},r("conn.ended"));let o=[e,t].find(a=>a?.connection==="lost");return o?n("div",{class:"bar lost",role:"status"},r("conn.lost",{span:ae(s-o.lostSince)})):null}var Ln=({items:e,dismiss:t})=>n("div",{class:"toasts",role:"status","aria-live":"polite"},e.map(s=>n("div",{class:`toast ${s.kind}`,key:s.id},n("span",null,n("strong",{class:"code"},b(s.title))," ",b(s.words)),n(Ye,{act:()=>t(s.id)})))),la={"?":"keys.help",t:"nav.team",c:"nav.conversation",d:"nav.changes",i:"nav.inbox",s:"nav.sessions","/":"keys.find",m:"keys.compose","Shift X":"keys.stop","← →":"keys.pan","+ −":"keys.zoom","↑ ↓":"keys.rows",Esc:"keys.close"};function In({close:e}){let t=G(null);return R(()=>t.current.showModal(),[]),n("dialog",{class:"help",ref:t,onClose:e,"aria-labelledby":"help-title"},n("header",{class:"row"},n("h2",{id:"help-title",class:"grow"},r("help")),n(Ye,{act:()=>t.current.close()})),n(_e,{rows:Object.entries(la).map(([s,o])=>[n("kbd",null,s),r(o)])}))}var Rn=12,_s=3e3,ca=25e4;function nt(e){let t=[],s=0,o=0,a=0,i=0,l="";for(let c of e.replace(/\n$/,"").split(`
`)){let d=/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(c),[p]=c;if(d)[s,a,o,i]=d.slice(1).map(u=>Number(u??1)),t.push({kind:"hunk",text:c});else if(p==="\\"||p==="[")t.push({kind:"hunk",text:c});else if(a<=0&&i<=0)/^(---|\+\+\+) [^/]/.test(c)&&(l=c.slice(6)),c.startsWith("+++")&&t.push({kind:"file",text:l});else{let u={kind:p==="+"?"add":p==="-"?"del":"same",text:c.slice(1)};p!=="+"&&([u.old,s,a]=[s,s+1,a-1]),p!=="-"&&([u.new,o,i]=[o,o+1,i-1]),t.push(u)}}return t}function bs(e,t){let[s,o]=[e,t].map(p=>p===""?[]:p.replace(/\n$/,"").split(`
`)),a=(p,u)=>u.map(f=>({kind:p,text:f}));if(s.length*o.length>ca)return[...a("del",s),...a("add",o)];let i=Array.from({length:s.length+1},()=>new Uint16Array(o.length+1));for(let p=s.length-1;p>=0;p-=1)for(let u=o.length-1;u>=0;u-=1)i[p][u]=s[p]===o[u]?i[p+1][u+1]+1:Math.max(i[p+1][u],i[p][u+1]);let l=[],c=0,d=0;for(;c<s.length&&d<o.length;)s[c]===o[d]?(l.push({kind:"same",text:s[c++]}),d+=1):i[c+1][d]>=i[c][d+1]?l.push({kind:"del",text:s[c++]}):l.push({kind:"add",text:o[d++]});return[...l,...a("del",s.slice(c)),...a("add",o.slice(d))]}var Bn=e=>({added:e.filter(t=>t.kind==="add").length,removed:e.filter(t=>t.kind==="del").length}),ks=e=>e.filter(t=>t.kind==="file").length,ys={add:["+","diff.added"],del:["−","diff.removed"]};function Ae({rows:e,all:t=!1}){let[s,o]=E(t),a=ks(e)>1,i=e.filter(d=>a||d.kind!=="file"),l=i.some(d=>d.old||d.new),c=d=>l&&n("td",{class:"ln","aria-hidden":"true"},d||"");return n("div",{class:"diff-box"},n("div",{class:"diff",tabindex:"0",role:"group","aria-label":r("diff")},n("table",null,n("tbody",null,i.slice(0,s?_s:Rn).map(({kind:d,...p},u)=>n("tr",{class:d,key:u},c(p.old),c(p.new),n("td",{class:"sign"},ys[d]?.[0],ys[d]&&n("span",{class:"hidden"},r(ys[d][1])," ")),n("td",null,Me(p.text))))))),i.length>Rn&&!s&&n("button",{class:"link",onClick:()=>o(!0)},r("showAll",{n:i.length})),s&&i.length>_s&&n("p",{class:"strong"},r("diff.hidden",{n:i.length-_s})))}var Fn={agent:"agent",turn:"turn",call:"call_id"},De=e=>`${e.call_id}/${e.path}`,Wn=e=>r("changes.files",{n:new Set(e.map(t=>t.path)).size}),Un=(e,t)=>e==="user"?r("you"):S(e,t);function Hn({sessionStore:e,act:t,params:{agent:s,call:o}}){let[a,i]=E({status:"loading",items:[]}),[l,c]=E(o?"call":"agent"),[d,p]=E(""),[u,f]=E(null),[m,h]=E(null),[_,y]=E(null),[k,g]=se(),$=`/sessions/${e.id}`,T=G(0),x=()=>{T.current+=1;let v=T.current,j=L=>{v===T.current&&i(L)};return J(`${$}/changes`).then(({items:L})=>j({status:"ready",items:L}),L=>j({status:"error",items:[],problem:L}))};R(()=>{x()},[e,e.board.counts.file_changes]);let{items:w}=a;if(a.status!=="ready")return n(ue,{of:a,retry:x});if(!w.length)return n(ne,{words:r("changes.empty")},n("a",{class:"button",href:`#/s/${e.id}/conversation`},r("nav.conversation")));let P=w.filter(v=>!v.undone&&(u?u.has(De(v)):v.call_id===o||v.agent===s)),I=w.find(v=>De(v)===d)||P[P.length-1]||w[w.length-1],H=[...Map.groupBy(w,v=>v[Fn[l]])],F=(v,{path:j})=>l==="agent"?Un(v,28):l==="turn"?r("changes.turn",{n:v}):`${S(j.split("/").pop(),20)} · ${S(v,10)}`,be=(v,j)=>{let L=new Set(P.map(De));for(let B of v)L[j?"add":"delete"](De(B));f(L),h(null)},C=(v,j,L)=>{let B=v.filter(N=>!N.undone),A=B.filter(N=>P.includes(N)).length;return n("input",{type:"checkbox","data-stop":!0,tabindex:L?0:-1,"aria-label":j,disabled:!B.length,checked:A>0&&A===B.length,indeterminate:A>0&&A<B.length,onChange:({target:N})=>be(B,N.checked)})},D=v=>()=>g(()=>t.attempt(v)),W=D(async()=>h(await z(`${$}/undo/plan`,{selection:{files:P.map(v=>({call:v.call_id,path:v.path}))}}))),Ce=D(async()=>{y(await z(`${$}/undo`,{plan_id:m.plan_id})),h(null),f(new Set),await x()}),O=v=>{let j=m?.conflicts.find(B=>B.path===v.path&&P.includes(v)),L=v.undone?r("changes.undone"):v.undoes.length?r("changes.undo"):"";return n("li",{class:`change${v===I?" on":""}`,key:De(v)},C([v],b(v.path)),n("button",{class:"grow","data-stop":!0,tabindex:"-1","aria-pressed":v===I,onClick:()=>{p(De(v)),h(null)}},n("span",{class:"code grow clip",title:b(v.path)},S(v.path,24)),L&&n("span",{class:"muted"},L),n(Nt,{...v}),j&&n("span",{class:"warn",title:b(j.reason)},"⚠")))};return n("div",{class:"changes"},n("section",{class:"changes-list","aria-label":r("nav.changes")},n("div",{class:"segmented",role:"group","aria-label":r("by")},Object.keys(Fn).map(v=>n("button",{key:v,"aria-pressed":l===v,onClick:()=>c(v)},r(`by.${v}`)))),n("div",{class:"row"},n("button",{disabled:k||!P.length,onClick:W},r("undo.look")),n("span",{class:"muted grow"},P.length?Wn(P):r("undo.tick"))),n("div",{onKeyDown:Lt},H.map(([v,j],L)=>n("section",{key:v,"aria-label":F(v,j[0])},n("h2",{class:"change"},C(j,F(v,j[0]),L===0),l==="agent"&&n(ge,{board:e.board,id:e.board.agents.find(B=>B.name===v)?.id||"user"}),n("bdi",{class:"grow"},F(v,j[0])),n("span",{class:"muted num"},Wn(j))),n("ul",{class:"plain"},j.map(O)))))),n("section",{class:"changes-diff","aria-label":b(I.path)},_&&n("p",{class:"box ok",role:"status"},r("undo.done",{n:_.files.length})," ",n("a",{class:"code",href:`#/s/${e.id}/changes?call=${_.call_id}`},S(_.call_id,12))),m?n(da,{plan:m,busy:k,take:Ce,leave:()=>h(null)}):[n("header",{class:"row"},n("h2",{class:"code grow clip",title:b(I.path)},S(I.path,60)),n("span",{class:"muted"},Un(I.agent,24)," · ",r("changes.turn",{n:I.turn})," · ",n("span",{class:"code"},S(I.call_id,12)))),I.diff?n(Ae,{key:De(I),rows:nt(I.diff),all:!0}):n("p",{class:"muted"},r("changes.lost"))]))}function da({plan:e,busy:t,take:s,leave:o}){let a=nt(e.diff);return n("section",{class:"undo","aria-label":r("undo.plan")},n("div",{class:"row"},n("h3",{class:"grow"},r("undo.plan")),n("button",{onClick:o},r("cancel")),n("button",{class:"primary",disabled:t||!e.diff,onClick:s},r("undo.take",{n:ks(a)||1}))),e.conflicts.length>0&&n("ul",{class:"plain warn"},e.conflicts.map(i=>n("li",{key:i.path},"⚠ ",n("span",{class:"code"},b(i.path))," ",b(i.reason)))),e.diff?n(Ae,{rows:a}):n("p",{class:"muted"},r("undo.none")),e.commands.length>0&&n(te,{title:r("undo.commands",{n:e.commands.length})},n("ul",{class:"plain"},e.commands.map((i,l)=>n("li",{class:"code",key:l},b(i))))))}var ua=2e4,pa=new Set(`and as assert async await break case catch class const continue def default defer del do elif else end enum except export extends
 False final finally fn for from func function go if impl import in interface is let lambda match mod mut new nil None nonlocal not null or package pass private
 protected public raise return self static struct super switch then this throw trait True true false try type typeof undefined use var void where while with yield`.split(/\s+/)),ha=/^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|make|makefile|dockerfile|r|perl|conf|ini|console|)$/i,ma={"+":"add","-":"del","@":"num"},fa=["com","str","num"];function ga(e,t){if(e.length>ua||/^(text|txt|plain|output|log)$/i.test(t))return[["",e]];if(/^(diff|patch)$/i.test(t))return e.split(/(?<=\n)/).map(l=>[ma[l[0]]||"",l]);let s=ha.test(t)?"#[^\\n]*":"//[^\\n]*|/\\*[^]*?(?:\\*/|$)",o=new RegExp(`(${s})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\.)*\`?)|(\\b\\d[\\w.]*)|[A-Za-z_$][\\w$]*`,"g"),a=[],i=0;for(let l of e.matchAll(o)){let c=fa[l.slice(1).findIndex(d=>d!==void 0)]||pa.has(l[0])&&"kw";c&&(a.push(["",e.slice(i,l.index)],[c,l[0]]),i=l.index+l[0].length)}return[...a,["",e.slice(i)]]}var _a=globalThis.requestIdleCallback||(e=>setTimeout(e,50));function zn({code:e,language:t=""}){let s=G(null),[o,a]=E(null),i=b(e);return R(()=>{a(null);let l=new IntersectionObserver(c=>{c.some(d=>d.isIntersecting)&&(l.disconnect(),_a(()=>s.current&&a(ga(i,t))))});return l.observe(s.current),()=>l.disconnect()},[i,t]),n("pre",{class:"code-block",ref:s,tabindex:"0","aria-label":t?r("code.of",{language:t}):r("code")},n("code",null,o?o.map(([l,c],d)=>l?n("span",{class:`hl-${l}`,key:d},c):c):i))}var ya=1e4,Qn=5;function Kn(e,t=0){let s=[],o=[],a="",i=t,l=t,c=()=>{o.length&&s.push({text:o.join(`
`),at:i}),o=[]};for(let d of e.slice(t).split(`
`)){o.length||(i=l),l+=d.length+1;let p=/^ {0,3}(`{3,}|~{3,})/.exec(d);a?(o.push(d),p&&p[1].startsWith(a)&&d.trim()===p[1]&&(a="",c())):p?(c(),i=l-d.length-1,a=p[1],o.push(d)):d.trim()?o.push(d):c()}return c(),s}function ba(e){let t=e.trim();if(!/^(https?:\/\/|mailto:)/i.test(t)||b(t)!==t)return"";try{let{protocol:s}=new URL(t);return["http:","https:","mailto:"].includes(s)?t:""}catch{return""}}var Vn=(e,t)=>{let s=ba(e);return s?n("a",{href:s,target:"_blank",rel:"noopener noreferrer nofollow",title:b(s)},t):n("span",null,t," ",n("span",{class:"muted"},"(",b(e),")"))},ka={"**":"strong",__:"strong","~~":"del","*":"em",_:"em"},wa=/(`+)|(\*\*|__|~~|[*_])|(!?)\[([^[\]\n]{0,300})\]\(([^()\s]{1,1000})\)|https?:\/\/[^\s<>()[\]{}"'`*]{1,1000}|\\([\\`*_{}[\]()#+\-.!~|>])/g;function Ee(e,t=0){if(t>Qn||e.length>ya)return[b(e)];let s=[],o=new RegExp(wa.source,"g"),a=0,i=new Set,l=c=>{c>a&&s.push(b(e.slice(a,c)))};for(let c=o.exec(e);c;c=o.exec(e)){let[d,p,u,f,m,h,_]=c,y=c.index,k=y+d.length,g=null;if(p||u){let $=p||u,T=y+$.length,x=i.has($)?-1:e.indexOf($,T);x<0&&i.add($);let w=x>T?e.slice(T,x):"",P=$[0]==="_"&&(/\w/.test(e[y-1]||"")||/\w/.test(e[x+$.length]||""));w&&p?g=n("code",null,b(w.trim()||w)):w&&!P&&!/^\s|\s$/.test(w)&&(g=n(ka[$],null,Ee(w,t+1))),g&&(k=x+$.length)}else if(_)g=_;else if(h)g=Vn(h,f?r("md.image",{alt:b(m)}):Ee(m||h,t+2));else{let $=d.replace(/[.,;:!?]+$/,"");g=Vn($,b($)),k=y+$.length}o.lastIndex=k,g&&(l(y),s.push(g),a=k)}return l(e.length),s}var Xn=/^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;function Gn(e){let t=[];for(let a of e){let i=Xn.exec(a);i?t.push({depth:Math.min(4,Math.floor(i[1].replace(/\t/g,"  ").length/2)),ordered:/\d/.test(i[2]),number:parseInt(i[2],10),words:[i[3]]}):t.length&&t[t.length-1].words.push(a.trim())}let s=(a,i)=>{let l=[],c=a;for(;c<t.length&&t[c].depth>=i;){let p=t[c],[u,f]=c+1<t.length&&t[c+1].depth>p.depth?s(c+1,t[c+1].depth):[null,c+1],m=/^\[([ xX])\]\s+(.*)$/.exec(p.words[0]),h=(m?[`${m[1]===" "?"☐":"☑"} ${m[2]}`,...p.words.slice(1)]:p.words).join(`
`);l.push(n("li",null,Ee(h),u)),c=f}let d=t[a];return[d.ordered?n("ol",{start:d.number},l):n("ul",null,l),c]},o=[];for(let a=0;a<t.length;){let[i,l]=s(a,t[a].depth);o.push(i),a=l}return o}var Jn=e=>e.trim().replace(/^\||\|$/g,"").split("|").slice(0,40).map(t=>t.trim());function va(e){let t=Jn(e[0]);return n("div",{class:"table-box",tabindex:"0",role:"region","aria-label":r("md.table")},n("table",null,n("thead",null,n("tr",null,t.map(s=>n("th",{scope:"col"},Ee(s))))),n("tbody",null,e.slice(2,500).map(s=>n("tr",null,Jn(s).map(o=>n("td",null,Ee(o))))))))}function ws(e,t=0){let s=e.split(`
`),o=/^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})/.exec(s[0]);if(o){let l=s.length>1&&s[s.length-1].trim().startsWith(o[1]);return n(zn,{code:s.slice(1,l?-1:void 0).join(`
`),language:o[2]})}let a=/^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(s[0]);if(a)return[n("p",null,n("strong",null,Ee(a[2]))),s.length>1&&ws(s.slice(1).join(`
`),t)];if(/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(s[0]))return n("hr",null);if(s[0].startsWith(">")&&t<Qn)return n("blockquote",null,ws(s.map(l=>l.replace(/^>\s?/,"")).join(`
`),t+1));if(s.length>1&&s[0].includes("|")&&/^[\s|:-]+$/.test(s[1])&&s[1].includes("-"))return va(s);let i=s.findIndex(l=>Xn.test(l));return i===0?Gn(s):i>0&&i<s.length?[n("p",null,Ee(s.slice(0,i).join(`
`))),Gn(s.slice(i))]:n("p",null,Ee(e))}var It=class extends re{shouldComponentUpdate({text:t}){return t!==this.props.text}render({text:t}){return n("div",{class:"md"},ws(t))}},We=class extends It{render({text:t}){let{before:s,blocks:o}=this,a=o?.length&&t.startsWith(s)?o[o.length-1].at:0;return this.blocks=a?[...o.slice(0,-1),...Kn(t,a)]:Kn(t),this.before=t,n("div",{class:"md"},this.blocks.map((i,l)=>n(It,{key:l,text:i.text})))}};var Yn=100,ot=80,Zn=320,xa=60,eo=64,vs={from:null,to:null},Ss=e=>Object.hasOwn(Zt,e)&&Zt[e];function to({sessionStore:e,act:t,seq:s=null,agent:o="",words:a,facts:i}){let[l,c]=E(o),[d,p]=E(""),[u,f]=E(o);if(R(()=>{o&&(c(o),f(o))},[o]),e.status!=="ready")return n(ue,{of:e,retry:()=>t.reopen()});let{board:m}=e,h=m.agents.filter(y=>y.status!=="ended"),_=(y,k)=>n("button",{class:"chip",key:y,"aria-pressed":l===y,onClick:()=>c(l===y?"":y)},k);return n("div",{class:"conversation"},n("div",{class:"filters"},n("div",{class:"chips",role:"group","aria-label":r("conv.filter")},_("",r("conv.all")),m.agents.filter(y=>h.includes(y)||l===y.id).map(y=>_(y.id,n(Be,{board:m,id:y.id,length:18})))),n("input",{id:"find",type:"search",value:d,placeholder:r("conv.find"),"aria-label":r("conv.find"),onInput:Se(p)})),n($s,{sessionStore:e,board:m,facts:i,words:a,only:l,find:d,seq:s,act:t}),t&&n(Sa,{busy:h.some(ie),agents:h,to:u,choose:f,send:(y,k)=>t.prompt(y,k)}))}function Sa({busy:e,agents:t,to:s,choose:o,send:a}){let[i,l]=E(""),[c,d]=se(),p=G(null),u=c||!i.trim(),f=e&&!s,m=async y=>{if(u)return;await d(()=>a(i,{...s&&{agent:s},...f&&!y&&{steer:!0}}))||(l(""),p.current&&(p.current.style.height="")),p.current?.focus()},h=y=>{y.key==="Escape"&&y.currentTarget.blur(),!(y.key!=="Enter"||y.shiftKey||y.isComposing)&&(y.preventDefault(),m(y.ctrlKey||y.metaKey))},_=({target:y})=>{l(y.value),y.style.height="auto",y.style.height=`${Math.min(y.scrollHeight+2,200)}px`};return n("form",{class:"composer",onSubmit:de(()=>m(!1))},n("textarea",{id:"composer",ref:p,rows:"1",value:i,onInput:_,onKeyDown:h,"aria-label":r("say.label"),title:r("say.hint"),placeholder:r(e?"say.busy":"say.idle")}),n(oe,{label:r("say.to"),hidden:!0,none:r("say.team"),of:t.map(y=>y.id),say:y=>S(t.find(k=>k.id===y).name,24),value:s,set:o}),f&&n("button",{type:"button",disabled:u,onClick:()=>m(!0)},r("say.queue")),n("button",{class:"primary",disabled:u},r(f?"say.steer":"say.send")))}function $a(e,t,s,o){let{kind:a}=e;return a==="turn"||a==="end"&&e.status==="completed"&&(e.agent!==o||s||t)||t&&e.agent!==t&&e.from!==t&&e.to!==t?!1:s?[e.text,e.name,e.subject,e.end?.output].join(`
`).toLowerCase().includes(s):!e.repeated&&!(a==="call"&&Ss(e.name)==="message"&&e.end?.ok)}function $s({sessionStore:e,board:t,facts:s,words:o,only:a="",find:i="",seq:l=null,act:c,blocks:d=e.blocks}){let p=i.trim().toLowerCase(),u=t.agents[0]?.id,f=he(()=>d.filter(C=>$a(C,a,p,u)),[s,a,p,d]),[m,h]=E({...vs}),_=G(null),y=G(!0),k=G(null),g=G(0),$=C=>({from:Math.max(0,Math.min(C,f.length)-Yn-ot),to:C>=f.length?null:C});if(g.current){let C=f.findIndex(D=>D.seq===g.current);g.current=0,Object.assign(m,$(C+1))}let T=m.to===null?f.length:Math.min(m.to,f.length),x=Math.max(0,m.from===null?T-Yn:Math.min(m.from,T)),w=G(null),P=f.reduce((C,D)=>D.kind==="prompt"?D.seq:C,0);R(()=>{w.current===null&&(h({...vs}),y.current=!0)},[a,p,e,P]),R(()=>{l!==null&&(w.current=l,y.current=!1,l<e.first&&e.loadOlder(l))},[l,e]),gt(()=>{let{current:C}=_,D=W=>C.querySelector(`[data-seq="${W}"]`);if(w.current!==null&&w.current>=e.first){let W=f.findIndex(O=>O.seq>=w.current),Ce=D(f[W]?.seq);Ce?(w.current=null,C.scrollTop+=Ce.getBoundingClientRect().top-C.getBoundingClientRect().top-C.clientHeight/3,Ce.classList.add("found"),Ce.querySelector("a,button,[tabindex]")?.focus({preventScroll:!0})):W>=0?h({from:Math.max(0,W-ot),to:W+ot}):w.current=null;return}if(k.current){let W=D(k.current.seq);W&&(C.scrollTop+=W.getBoundingClientRect().top-k.current.top),k.current=null}else y.current&&m.to===null&&(C.scrollTop=C.scrollHeight)});let I=()=>{let C=_.current.getBoundingClientRect().top,D=[..._.current.querySelectorAll("[data-seq]")].find(W=>W.getBoundingClientRect().bottom>C);k.current=D?{seq:D.dataset.seq,top:D.getBoundingClientRect().top}:null},H=()=>{let{current:C}=_,D=C.scrollHeight-C.scrollTop-C.clientHeight;if(y.current=D<xa&&m.to===null,C.scrollTop<200){if(x>0){I();let W=Math.max(0,x-ot);h({from:W,to:T-W>Zn?W+Zn:m.to})}else if(e.first>1&&!e.older&&!e.offline){let W=f[T-1]?.seq;e.loadOlder().then(()=>{I(),g.current=W})}}else D<200&&m.to!==null&&(I(),h($(T+ot)))},F=m.to===null&&!p?[...e.live].filter(([C,D])=>(!a||a===C)&&(D.text||D.thinking||D.note)):[],be=()=>{y.current=!0,h({...vs}),_.current.scrollTop=_.current.scrollHeight};return n("div",{class:"thread-box"},n("div",{class:"thread",ref:_,onScroll:H,tabindex:"0",role:"log","aria-live":"off","aria-label":r("nav.conversation")},(e.older||x===0&&e.first<=1)&&n("p",{class:"muted center"},r(e.older?"conv.older":"conv.begin")),f.slice(x,T).map(C=>n(xs,{key:C.seq,block:C,board:t,size:t.agents.length,act:c,sessionStore:e,live:C.kind==="call"&&!C.end&&e.live.get(C.agent)?.output.get(C.id)||""})),!F.length&&!f.some(C=>C.kind!=="note")&&n(ne,{words:r(p||a?"conv.none":"conv.empty")},!c&&!e.offline&&!p&&!a&&n("a",{class:"button",href:`#/s/${e.id}/conversation`},r("nav.conversation"))),F.map(([C,D])=>n(Bt,{key:C,board:t,id:C,kind:"said live"},D.note&&n("p",{class:"muted"},V("live",b(D.note))),D.thinking&&!D.text&&n("p",{class:"thinking"},b(D.thinking.slice(-400))),D.text&&n(We,{text:D.text})))),m.to!==null&&n("button",{class:"to-end",onClick:be},r("conv.toEnd")))}var xs=class extends re{shouldComponentUpdate(t){return["block","live","size","act"].some(s=>t[s]!==this.props[s])}render(t){let s={prompt:Ea,told:Ca,mail:Oa,said:Ta,call:Ma,end:Aa,note:Da}[t.block.kind];return n(s,{...t})}},Rt=({block:e,kind:t,children:s})=>n("article",{class:`block ${t}${e.gone?" gone":""}`,"data-seq":e.seq},s),Bt=({block:e={},board:t,id:s,kind:o,head:a,acts:i,children:l})=>n(Rt,{block:e,kind:o},n(ge,{board:t,id:s}),n("div",{class:"block-body"},n("header",{class:"block-head"},n(fe,{board:t,id:s}),a,e.ts&&n(fs,{ts:e.ts}),i),l)),so=({block:e,mark:t="·",bad:s,children:o})=>n(Rt,{block:e,kind:s?"note bad":"note"},n(ee,{is:t}),n("span",null,o," ",n(fs,{ts:e.ts})));function Ea({block:e,board:t,act:s,sessionStore:o}){let[a,i]=E(!1),[l,c]=E(e.text),d=t.agents[0]?.id!==e.to,p=async f=>{await s.goOnFrom(e.seq,f)||i(!1)},u=s&&!e.gone&&n("span",{class:"block-acts"},n("button",{class:"link",onClick:()=>s.fork(o.id,e.seq)},r("fork")),!d&&n("button",{class:"link","aria-expanded":a,onClick:()=>i(!a)},r("conv.edit")));return n(Bt,{block:e,board:t,id:"user",kind:"prompt",acts:u,head:d&&[n("span",{class:"muted","aria-hidden":"true"},"→"),n(fe,{board:t,id:e.to})]},a?n("form",{class:"edit",onSubmit:de(()=>p(l))},n("textarea",{rows:"4","aria-label":r("conv.edit"),value:l,onInput:Se(c)}),n("p",{class:"muted"},r("conv.forget")),n("div",{class:"row end"},n("button",{type:"button",onClick:()=>i(!1)},r("cancel")),n("button",{type:"button",onClick:()=>p("")},r("conv.rewind")),n("button",{class:"primary",disabled:!l.trim()},r("conv.goOn")))):n("div",{class:"prose pre"},b(e.text)),e.images>0&&n("p",{class:"muted"},r("conv.images",{n:e.images})))}var Ca=({block:e,board:t})=>n(so,{block:e},r("note.told",{name:S(Z(t,e.to),30)})," ",S(e.text,400));function Oa({block:e,board:t}){let s=n(We,{text:e.text});return n(Bt,{block:e,board:t,id:e.from,kind:"mail",head:[n("span",{class:`mail-kind ${e.mail}`},V("mail",e.mail)," ",n("span",{"aria-hidden":"true"},"→")),n(Be,{board:t,id:e.to})]},e.text.length>600?n(te,{title:S(e.text,200)},s):s)}var Ta=({block:e,board:t})=>n(Bt,{block:e,board:t,id:e.agent,kind:"said"},e.thinking&&n(te,{title:r("conv.thinking")},n("div",{class:"thinking pre"},b(e.thinking))),e.text&&n(We,{text:e.text}));function qa({name:e,args:t}){if(Ss(e)!=="diff")return null;let{old_string:s,new_string:o,content:a}=Object(t);return typeof a=="string"?bs("",a):typeof s=="string"&&typeof o=="string"?bs(s,o):null}function Ma({block:e,board:t,act:s,live:o}){let{end:a,asked:i,name:l,subject:c}=e,d=he(()=>qa(e),[e.args]),[p,u,f]=a?a.ok?["ok","✓",r("step.completed")]:["error","✗",r("state.failed")]:["","●",r("call.runs")],m=Me(a?a.output:o),h=Ss(l),_=a?.ok&&(d||h==="message"||h==="whole"),y=[a?.ms>=100&&Qe(a.ms),!!a?.exit&&r("call.exit",{code:a.exit}),a?.error,i?.decision&&`${V("decision",i.decision)}${i.scope?` (${V("scope",i.scope)})`:""}`].filter(Boolean),k=r("call.output");return n(Rt,{block:e,kind:a&&!a.ok?"call bad":"call"},n("div",{class:"block-body"},n("header",{class:"call-head"},n("span",{class:`mark ${p}`},n("span",{"aria-hidden":"true"},u),n("span",{class:"hidden"},f)),n(fe,{board:t,id:e.agent,length:18})," ",n("span",{class:"code strong"},S(l,40))," ",n("span",{class:"code",title:b(c)},S(c,eo)),d&&n(Nt,{...Bn(d)}),y.map(g=>n("span",{class:"muted num",key:g},b(g))),i&&!i.decision&&!a&&[n("span",{class:"state asks"},n(ee,{is:"▲"})," ",r("state.asks")),s&&n(Ze,null)]),d&&n(te,{title:r("diff")},n(Ae,{rows:d})),rn.includes(l)&&c.length>eo&&n(te,{title:r("call.command")},n(Fe,null,b(e.args?.command))),m&&!_&&(a?.ok&&(h==="count"||h==="nothing")?n(te,{title:r("card.output")},n(gs,{text:m,lines:12,tail:!1,label:k})):n(gs,{text:m,label:k})),a?.notice&&n("p",{class:"muted"},b(a.notice))))}function Aa({block:e,board:t}){let{began:s,status:o}=e,a=o!=="completed",i=[a&&`✗ ${S(Z(t,e.agent),24)}`,V("turn",o)];return s&&i.push(r("conv.steps",{n:s.steps}),r("tokens",{n:ve(s.tokens)}),s.cost!==null&&X(s.cost),Qe(Date.parse(e.ts)-Date.parse(s.ts))),n(Rt,{block:e,kind:a?"turn-end bad":"turn-end"},n("span",{class:"num"},i.filter(Boolean).join(" · ")))}function Da({block:e,board:t}){let{data:s,type:o}=e,a=(p,u=300)=>typeof p=="string"?S(p,u):"",i=S(Z(t,e.agent),30),l=p=>a(p?.id||p?.model),c=()=>r(`note.${o}`,Object.fromEntries([["name",i],...Object.entries(s).map(([p,u])=>[p,a(u)||u])])),d=({session_resumed:()=>r("note.resumed"),agent_started:()=>r("note.started",{name:a(s.agent?.name,30),model:l(s.agent?.model)}),agent_ended:()=>r("note.ended",{name:i,reason:a(s.reason)}),compacted:()=>r("note.compacted",{name:i,before:ve(s.tokens_before||0),after:ve(s.tokens_after||0)}),forked:()=>r("note.forked",{seq:U(s.at||0)}),rewound:()=>r("note.rewound",{seq:U(s.to||0)}),mode_changed:()=>r("note.mode",{mode:V("mode",a(s.mode))}),model_changed:()=>r("note.model",{name:i,model:l(s.model)}),renamed:()=>r("note.renamed",{name:a(s.name)}),error:()=>`${a(s.kind)}: ${a(s.message)}`,control:()=>r(s.action==="halt"?"note.halted":s.action==="destroy"?"note.destroyed":"note.interrupted",{name:S(Z(t,s.target),30)}),permission_decision:()=>`${a(s.tool)}: ${V("decision",a(s.decision))}, ${a(s.reason)}`,checked:()=>r("note.checked",{status:a(s.status??String(s.ok??""))})}[o]||c)();return n(so,{block:e,bad:o==="error",mark:o==="error"?"✗":"·"},d)}function no({state:{inbox:e,now:t,sessions:s},act:o}){R(()=>{o.loadSessions("")},[]);let a=({session_id:i})=>s.items.find(l=>l.id===i)?.name||i;return n("div",{class:"page inbox"},n("h2",{class:"hidden"},r("nav.inbox")),e.ready?!e.items.length&&n(ne,{words:r("inbox.empty")},n("a",{class:"button",href:"#/sessions"},r("nav.sessions"))):e.connection==="lost"?n(ne,{words:r("inbox.lost")}):n(st,null),e.items.map(i=>n(Na,{key:i.id,one:i,now:t,act:o,session:a(i)})))}function Na({one:e,now:t,act:s,session:o}){let[a,i]=se(),[l,c]=E(null),[d,p]=E(""),[u,f]=E(!1),m=(g,$)=>i(async()=>c(await s.answer(e,g,$))),h=Date.parse(e.deadline)-t,_=u&&e.wider,y=_?{rule:_}:{},k=(g,$,T,x)=>n("button",{class:"big",disabled:a,onClick:()=>m($,T),...x},g);return n("article",{class:"question","aria-label":r("inbox.of",{agent:b(e.agent)})},n("header",null,n(ee,{is:"▲"}),n("h3",{class:"grow"},r("inbox.asks",{agent:S(e.agent,60)})),n("a",{href:`#/s/${e.session_id}/team`},n("bdi",null,S(o,20))),n("span",{class:"muted"},n(tt,{since:e.asked,now:t}))),!e.text.startsWith(e.tool)&&n("p",{class:"strong code"},b(e.tool)),n(Fe,{label:r("inbox.call")},b(e.text)),/^@@ /m.test(e.preview)?n(Ae,{rows:nt(Me(e.preview).replace(/^[^]*?(?=^(?:---|@@) )/m,""))}):e.preview&&n(te,{title:r("inbox.shown")},n(Fe,null,Me(e.preview))),e.hidden_lines>0&&n("p",{class:"strong"},r("inbox.hidden",{n:e.hidden_lines})),n(_e,{rows:[[r("inbox.adds"),b(e.adds)||r("inbox.none")],[r("inbox.why"),b(e.reason)],h>0&&[r("inbox.expires"),r("inbox.in",{span:ae(h)}),{class:"num"}]]}),l&&n("p",{class:"error",role:"alert"},l.kind==="writer_conflict"?r("inbox.late"):b(l.message)),n("div",{class:"answers"},k(r("deny"),!1,d?{reason:d}:{}),k(r("allowOnce"),!0,{scope:"once"},{class:"big primary"})),n(te,{class:"more-answers",title:r("inbox.more")},e.rule?[n("p",null,r("inbox.rule")," ",n("code",null,b(_||e.rule))),e.wider&&n(et,{checked:u,set:f,label:[r("inbox.wider")," ",n("code",null,b(e.wider))]}),n("div",{class:"answers"},k(r("allowSession"),!0,{scope:"session",...y}),k(r("allowAlways"),!0,{scope:"rule",...y})),e.place&&n("p",{class:"muted"},r("inbox.place",{place:b(e.place)}))]:n("p",{class:"muted"},r("inbox.noRule")),n($e,{label:r("inbox.reason")},n("textarea",{rows:"2",value:d,maxlength:"10000",onInput:Se(p)})),k(r("denyReason"),!1,{reason:d},{disabled:a||!d.trim()})))}function Es({state:e,act:t}){let{sessions:s,now:o,notices:a}=e,[i,l]=E(""),[c,d]=E(null),[p,u]=E(!1);R(()=>{let h=!1,_=setTimeout(async()=>{t.loadSessions(i);let y=i.trim().length<2?null:await J(`/search${Ke({q:i.trim(),limit:30})}`).then(({items:k})=>k,()=>[]);h||d(y)},i?200:0);return()=>{h=!0,clearTimeout(_)}},[i]);let{items:f}=s,m=s.status==="ready"&&!f.length;return n("div",{class:"page"},a.map((h,_)=>n("p",{class:"box",key:_},b(h))),n("div",{class:"row"},n("input",{id:"find",type:"search",class:"grow",value:i,placeholder:r("sessions.find"),"aria-label":r("sessions.find"),onInput:Se(l)}),n("button",{class:"primary","aria-expanded":p,onClick:()=>u(!p)},r("sessions.new"))),(p||m&&!i)&&n(Ia,{state:e,act:t}),s.status!=="ready"&&n(ue,{of:s,retry:()=>t.loadSessions(i)}),m&&(i?n(ne,{words:r("sessions.none")}):!p&&n("p",{class:"muted center"},r("sessions.empty"))),f.length>0&&n("ul",{class:"list","aria-label":r("nav.sessions")},Pa(f).map(([h,_,y])=>n(ja,{key:h.id,one:h,depth:_,parent:y,now:o,act:t}))),s.next&&n("button",{onClick:()=>t.moreSessions(i)},r("more")),c&&n("section",{"aria-label":r("search.label")},n("h2",null,r("search.label")),c.length===0?n("p",{class:"muted"},r("search.none")):n("ul",{class:"list hits"},c.map(h=>n("li",{key:`${h.session_id}/${h.seq}`},n("a",{href:`#/s/${h.session_id}/conversation/${h.seq}`},n("span",{class:"small"},n("bdi",null,S(h.session_name,28))," · ",n("bdi",null,S(h.agent,20))," ",n("span",{class:"muted num"},ms(h.ts,o))),n("span",null,S(h.excerpt,240))))))))}function Pa(e){let t=new Map(e.map(i=>[i.id,i])),s=Map.groupBy(e,i=>i.parent),o=new Map,a=(i,l)=>{if(!o.has(i.id)){o.set(i.id,[i,l,t.get(i.parent)]);for(let c of s.get(i.id)||[])a(c,l+1)}};for(let i of e){let l=i;for(let c=e.length;c>0&&t.has(l.parent);c-=1)l=t.get(l.parent);a(l,0)}return[...o.values()]}function ja({one:e,depth:t,parent:s,now:o,act:a}){let[i,l]=E(!1);return n("li",{class:`session-row fork-${Math.min(t,4)}`},n("a",{class:"session-main",href:`#/s/${e.id}/team`},n("span",{class:"row"},n("bdi",{class:"strong grow",title:b(e.name)},S(e.name,36))," ",n(jt,{state:e.state})),n("span",{class:"clip"},S(e.first_prompt,160)||n("span",{class:"muted"},r("sessions.blank"))),n("span",{class:"session-facts muted"},e.parent&&n("span",null,"↳ ",r("sessions.fork",{name:S(s?.name||e.parent,28),seq:e.forked_at})),e.team&&n("span",null,S(e.team.split("/").pop(),24)),n("span",{class:"code"},S(e.model,28)),n("span",{class:"num"},e.cost_usd===null?r("cost.unknown"):X(e.cost_usd)),n("time",{class:"num",datetime:b(e.updated),title:qe(e.updated)},ms(e.updated,o)),e.holder&&n("span",{title:r("sessions.where",{host:b(e.holder.host),pid:e.holder.pid})},r("sessions.held")))),n("button",{class:"icon","aria-expanded":i,"aria-label":r("sessions.acts",{name:b(e.name)}),onClick:()=>l(!i)},"⋯"),i&&n(La,{one:e,act:a,done:()=>l(!1)}))}function La({one:e,act:t,done:s}){let[o,a]=E(!1),i=l=>async c=>{await l(c),s()};return n("div",{class:"row-acts"},n("form",{class:"row",onSubmit:de(i(({name:l})=>t.rename(e.id,l)))},n("input",{name:"name",class:"grow","aria-label":r("sessions.rename"),defaultValue:e.name,maxlength:"100"}),n("button",null,r("sessions.rename"))),n("div",{class:"row"},n("button",{onClick:()=>t.fork(e.id)},r("fork")),e.parent&&n("a",{class:"button",href:`#/s/${e.parent}/conversation/${e.forked_at}`},r("sessions.origin")),["md","html","ndjson"].map(l=>n("a",{class:"button",key:l,download:!0,href:`${Pe}/sessions/${e.id}/export?format=${l}`},r("export",{format:l}))),o?n("button",{class:"danger",onClick:i(()=>t.deleteSession(e.id))},r("sessions.sure")):n("button",{onClick:()=>a(!0)},r("sessions.delete"))))}function Ia({state:{models:e,teams:t},act:s}){let[o,a]=se(),[i,l]=E(null);R(()=>s.loadPlace(),[]);let c=p=>a(async()=>l(await s.start(p)));if(e.status==="ready"&&!e.items.some(p=>p.has_key||p.source!=="catalog"))return n(ne,{words:r("start.none")},n("a",{class:"button primary",href:"#/settings"},r("setup.first")));let d=(p,u,f,m)=>n(oe,{name:p,label:u,none:r("start.default"),of:f,say:m});return n("form",{class:"start",onSubmit:de(c),"aria-label":r("sessions.new")},n($e,{label:r("start.prompt")},n("textarea",{name:"prompt",rows:"3",required:!0,placeholder:r("start.example")})),n("div",{class:"options"},d("team",r("nav.team"),t.items.filter(p=>!p.problem).map(p=>p.alias),p=>S(t.items.find(u=>u.alias===p).name||p,40)),d("model",r("setup.model"),e.items.map(p=>p.id)),d("mode",r("mode.label"),Dt,p=>V("mode",p)),n($e,{label:r("start.budget")},n("input",{name:"max_budget_usd",type:"number",min:"0.01",step:"0.01",inputmode:"decimal",placeholder:r("start.free")}))),i&&n(ye,{problem:i}),n("div",{class:"row end"},n("button",{class:"primary",disabled:o},r(o?"start.busy":"start.go"))))}var oo={anthropic:"Anthropic",openai:"OpenAI",google:"Google"},Ra={ok:"✓",warning:"▲",error:"✗"};function io({state:e,act:t}){let{models:s,teams:o,me:a}=e;return R(()=>t.loadPlace(),[]),n("div",{class:"page settings"},n(Ba,{models:s,act:t}),n(Fa,{state:e,act:t}),n(ao,{title:r("models.title"),empty:r("models.empty"),of:s,Row:Wa,act:t}),n(ao,{title:r("teams.title"),empty:r("teams.empty"),of:o,Row:Ua,act:t}),n(Ha,null),n(za,null),n("section",null,n("h2",null,r("set.server")),n(_e,{rows:[[r("set.version"),b(a.version),{class:"num"}],[r("set.workspace"),b(a.workspace),{class:"code"}]]}),n("button",{onClick:()=>t.leave()},r("set.leave"))))}function Cs(e,t,s){let[o,a]=E(null);return R(()=>{J(e).then(i=>a(t(i)),()=>{})},[s]),o}function Ba({models:e,act:t}){let s=e.status==="ready"&&!e.items.some(g=>g.current||g.has_key||g.source!=="catalog"),[o,a]=E(!1),[i,l]=E("anthropic"),[c,d]=E(null),[p,u]=se(),f=Cs("/models?all=true",({items:g})=>g)||[],m=Cs("/config",g=>g.default_model,c),h=i==="other",_=({name:g,model:$,key:T,base_url:x},w)=>u(async()=>{d(null);let P={provider:h?g:i,...$&&{model:$},...T&&{key:T},...h&&{base_url:x}},I=await t.attempt(async()=>{let H=await z("/setup",P);d(H),H.ok&&(w.reset(),a(!1),t.loadPlace())});I&&d({ok:!1,error:I})}),y=c?.ok&&n("p",{class:"box ok",role:"status"},r("setup.done"));if(!s&&!o)return n("section",null,n("h2",null,r("setup.title")),y,n("p",null,r("setup.have")," ",n("span",{class:"code strong"},S(m||e.items.find(g=>g.current)?.id,60))),n("button",{onClick:()=>a(!0)},r("setup.change")));let k=(g,$,T,x)=>n($e,{label:$,hint:x},n("input",{name:g,autocomplete:"off",...T}));return n("section",{class:"setup"},n("h2",null,r(s?"setup.first":"setup.title")),n("p",{class:"muted"},r("setup.words")),n("form",{class:"start",onSubmit:de(_)},n(oe,{label:r("setup.provider"),of:[...Object.keys(oo),"other"],say:g=>oo[g]||r("setup.other"),value:i,set:l}),h&&[k("name",r("setup.name"),{required:!0,pattern:"[A-Za-z0-9_\\-]{1,64}"}),k("base_url",r("setup.address"),{type:"url",required:!0},r("setup.where"))],k("key",r("setup.key"),{type:"password",required:!h},r("setup.kept")),k("model",r("setup.model"),{list:"setup-models",required:h,placeholder:h?"":r("setup.default")}),n("datalist",{id:"setup-models"},f.filter(g=>g.provider===i).map(g=>n("option",{key:g.id,value:g.model}))),y,c&&!c.ok&&n(ye,{problem:c.error}),n("div",{class:"row end"},n("button",{class:"primary",disabled:p},r(p?"models.busy":"setup.go")))))}var Fa=({state:e,act:t})=>n("section",null,n("h2",null,r("look.title")),n("div",{class:"options"},n(oe,{label:r("look.theme"),of:["auto","light","dark"],say:s=>r(`look.${s}`),value:e.theme,set:s=>t.setLook({theme:s})}),n(oe,{label:r("look.words"),of:us,say:s=>r(`language.${s}`),value:e.language,set:s=>t.setLook({language:s})})),n(et,{label:r("look.notify"),checked:t.notifies,set:s=>t.setNotify(s)}),n(et,{label:r("look.keys"),checked:e.keys==="on",set:s=>t.setLook({keys:s?"on":"off"})}));function ro(e){let[t,s]=E(null),[o,a]=se();return[o?null:t,o,()=>a(()=>e().then(s,i=>s({ok:!1,error:i,problems:[i.message||r("error.away")]})))]}function lo({children:e,problem:t,ask:s,word:o,good:a}){let[i,l,c]=ro(s),d=[t,...i&&!i.ok?i.problems||[`${i.error.kind} ${i.error.message}`]:[]].filter(Boolean);return n("li",{class:"place-row"},n("span",{class:"grow"},e,d.map((p,u)=>n("span",{class:"error small",role:"alert",key:u},"✗ ",S(p,240))),i?.ok&&n("span",{class:"ok small",role:"status"},"✓ ",a(i))),n("button",{disabled:l,onClick:c},r(l?"models.busy":o)))}var ao=({title:e,empty:t,of:s,act:o,Row:a})=>n("section",null,n("h2",null,e),s.status!=="ready"?n(ue,{of:s,retry:()=>o.loadPlace()}):s.items.length?n("ul",{class:"list"},s.items.map(i=>n(a,{key:i.id||i.path,one:i}))):n("p",{class:"muted"},t)),Wa=({one:e})=>n(lo,{ask:()=>z("/models/test",{model:e.id}),word:"models.test",good:t=>r("models.works",{time:Qe(t.duration_ms)})},n("span",{class:"code strong",title:b(e.id)},S(e.id,44)),e.current&&[" ",n("span",{class:"tag"},r("models.used"))],n("span",{class:"muted small"},r("models.window",{n:ve(e.context_window)}),e.input_usd!==null&&` · ${r("models.price",{input:X(e.input_usd),output:X(e.output_usd??0)})}`)),Ua=({one:e})=>n(lo,{ask:()=>z(`/teams/${encodeURIComponent(e.alias)}/check`),word:"teams.check",good:()=>r("teams.ok"),problem:e.problem},n("span",{class:"strong"},S(e.name||e.alias,44))," ",n("span",{class:"muted"},S(e.description,120)),n("span",{class:"muted small"},S(e.members.join(", "),120)));function Ha(){let[e,t,s]=ro(()=>J("/doctor"));return n("section",null,n("h2",null,r("doctor.title")),e?.error&&n(ye,{problem:e.error,retry:s}),e?.checks&&n("ul",{class:"list"},e.checks.map(o=>n("li",{key:o.name,class:`place-row is-${o.state}`},n(ee,{is:Ra[o.state]||"·"}),n("span",{class:"hidden"},V("check",o.state)),n("span",null,n("span",{class:"strong"},b(o.name))," ",b(o.detail),o.advice&&n("span",{class:"muted small"},b(o.advice)))))),t?n(st,null):n("button",{onClick:s},r("doctor.run")))}function za(){let e=Cs("/config/origins",({items:t})=>t);return e&&n("section",null,n("h2",null,r("config.title")),n(te,{title:r("config.show",{n:e.length})},n(_e,{rows:e.map(({key:t,value:s,source:o})=>[n("span",{class:"code"},b(t)),[n("span",{class:"code pre"},b(typeof s=="string"?s:JSON.stringify(s)))," ",n("span",{class:"muted"},b(o))]])})))}var Ka=new Set(["assistant_message","tool_start","tool_end","turn_end","wait","permission_request","file_changed","usage"]),Os=class{constructor(){Object.assign(this,{bars:[],open:null,calls:new Map,overs:[],marks:[],at:0})}begin(t,s,o=""){this.finish(s),this.open={kind:t,from:s,to:s,word:o}}finish(t){this.open&&(this.open.to=t,t>this.open.from&&this.bars.push(this.open),this.open=null)}cover(t,s,{call_id:o,deadline:a},i){this.overs.push({kind:t,from:s,to:s,call:o,word:String(i),until:Date.parse(a)||0})}uncover(t,s){this.bars.push(...this.overs.filter(t).map(o=>({...o,to:s}))),this.overs=this.overs.filter(o=>!t(o))}close(t){this.uncover(()=>!0,t),this.finish(t),this.calls.clear()}};function uo(e){let t=new Map,s=[],o=e.length?Date.parse(e[0].ts):0,a=o,i=e.length>0&&e[0].seq>1,l=c=>(t.has(c)||t.set(c,new Os),t.get(c));for(let c of e){a=Math.max(a,Date.parse(c.ts)||a);let{agent_id:d,type:p,data:u}=c;if(p==="message"&&(u.from!=="user"||!u.origin||u.origin==="user")&&(s.push({seq:c.seq,at:a,from:String(u.from),to:String(u.to),kind:String(u.kind)}),u.from!=="user"&&l(String(u.from))),p==="session_resumed")for(let m of t.values())m.close(m.at||a);if(!d)continue;let f=l(d);i&&!f.at&&Ka.has(p)&&f.begin("work",o),Object.hasOwn(co,p)&&co[p](f,a,u),f.at=a}return{lanes:t,arrows:s,start:o,end:a}}var co={turn_start(e,t){e.close(t),e.begin("work",t)},turn_end(e,t,{status:s}){e.close(t),s!=="completed"&&e.marks.push(t)},agent_ended(e,t){e.close(t)},tool_start(e,t,{id:s,name:o}){e.calls.set(s,o),e.open?.kind!=="tool"&&e.begin("tool",t,String(o))},tool_end(e,t,{id:s,ok:o}){e.uncover(a=>a.call===s,t),e.calls.delete(s),o||e.marks.push(t),e.calls.size?e.open&&(e.open.word=String([...e.calls.values()].pop())):e.begin("work",t)},wait(e,t,s){e.cover("waits",t,s,s.on)},permission_request(e,t,s){e.cover("asks",t,s,s.tool)},permission_decision(e,t,{call_id:s}){e.uncover(o=>o.kind==="asks"&&o.call===s,t)}};function po(e,t,s){let o=[t];for(let d of e){let p=Date.parse(d.ts);p>o[o.length-1]&&p<s&&o.push(p)}s>o[o.length-1]&&o.push(s);let a=[0];for(let d=1;d<o.length;d+=1){let p=o[d]-o[d-1];a.push(a[d-1]+(p<=2e4?p:2e4*(1+Math.log2(p/2e4)/2)))}let i=a[a.length-1]||1,l=(d,p)=>{let u=0,f=d.length-1;for(;u<f-1;){let m=u+f>>1;d[m]<=p?u=m:f=m}return u},c=(d,p,u)=>{if(d.length<2)return 0;let f=Math.min(Math.max(u,d[0]),d[d.length-1]),m=l(d,f),h=(f-d[m])/(d[m+1]-d[m]||1);return p[m]+h*(p[m+1]-p[m])};return{place:d=>c(o,a,d)/i,moment:d=>c(a,o,d*i)}}function ho(e,t){let s=e.filter(c=>Date.parse(c.ts)<t&&c.agent_id);if(!s.length)return null;let o=s[0].seq,a=s[s.length-1].seq+1,i=new Map,l=1;for(let c of s){let d=Math.floor((c.seq-o)/(a-o)*24);i.has(c.agent_id)||i.set(c.agent_id,new Array(24).fill(0));let p=i.get(c.agent_id);p[d]+=1,l=Math.max(l,p[d])}return{rows:i,most:l,buckets:24}}var pe=24,Ft=72,Ts=14,fo={from:0,to:1},Va=["work","tool","waits","asks"],Ga=[1,2,5,10,15,30,60,120,300,600,900,1800,3600,7200,14400,43200,86400].map(e=>e*1e3);function Ja(e){if(e.agents.length<=8)return e.agents;let t=s=>e.questions.some(o=>o.agent_id===s.id)?0:ie(s)?1:s.status==="ended"?3:2;return e.agents.map((s,o)=>[t(s),o,s]).sort((s,o)=>s[0]-o[0]||s[1]-o[1]).map(s=>s[2])}function go({board:e,events:t,tick:s,now:o,until:a,selected:i,select:l}){let c=Ja(e),d=c.length>10&&innerWidth>900,p=d?32:44,u=G(null),[f,m]=E(720),[h,_]=E(fo),[y,k]=E("");gt(()=>{let w=()=>u.current&&m(Math.max(160,u.current.clientWidth));w();let P=new ResizeObserver(w);return P.observe(u.current),()=>P.disconnect()},[]);let g=c.map(w=>w.id).join(),$=he(()=>Xa({board:e,events:t,rows:c,height:p,width:f,view:h,until:a,selected:i}),[s,g,f,h,a,p,i]);R(()=>_(fo),[e.id]);let T=w=>{let{from:P,to:I}=h,H=I-P,F={ArrowLeft:[-H/4,-H/4],ArrowRight:[H/4,H/4],"+":[H/4,0],"=":[H/4,0],"-":[-H/2,0],0:[-1,1]}[w.key];if(!F||w.ctrlKey||w.metaKey)return;w.preventDefault();let be=Math.min(1,Math.max(.02,H+F[1]-F[0])),C=Math.min(1,Math.max(be,I+F[1]));_({from:Math.max(0,C-be),to:C})},x=w=>{let{left:P,top:I}=w.currentTarget.getBoundingClientRect();k($.tell(w.clientX-P,w.clientY-I-pe))};return n("div",{class:`lanes${d?" dense":""}`},n("div",{class:"lanes-scroll"},n("div",{class:"lanes-names",role:"group","aria-label":r("team.agents"),onKeyDown:Lt},n("div",{class:"axis","aria-hidden":"true"}),c.map((w,P)=>n("button",{key:w.id,"data-stop":!0,class:`lane-name${i===w.id?" on":""}${w.status==="ended"?" over":""}`,"aria-pressed":i===w.id,tabindex:i===w.id||!i&&P===0?0:-1,onClick:()=>l(w.id)},n(ge,{board:e,id:w.id}),n("span",{class:"lane-words"},n(fe,{board:e,id:w.id,length:d?15:19}),n(Pt,{board:e,row:w,now:o}))))),n("div",{class:"lanes-box",ref:u,tabindex:"0",role:"group","aria-label":r("lanes.label"),onKeyDown:T,onPointerMove:x,onPointerLeave:()=>k("")},$.svg)),n("div",{class:"lanes-foot muted"},n("span",{class:"clip","aria-hidden":"true"},y||r("lanes.hint")),n("span",{class:"legend","aria-hidden":"true"},Va.map(w=>[n("span",{class:`key ${w}`,key:w}),r(`lanes.${w}`)," "]),["ask","task","response"].map(w=>[n("svg",{class:`arrow ${w}`,width:"24",height:"8",key:w},n("path",{d:"M0 4H23"})),r(`mail.${w}`)," "]))),n(Qa,{board:e,rows:c,now:o,arrows:$.arrows}))}function Qa({board:e,rows:t,now:s,arrows:o}){let a=(i,l,c)=>n("table",null,n("caption",null,i),n("thead",null,n("tr",null,l.map(d=>n("th",{scope:"col",key:d},d)))),n("tbody",null,c.map((d,p)=>n("tr",{key:p},d.map(u=>n("td",null,b(u)))))));return n("div",{class:"hidden"},a(r("lanes.table"),[r("by.agent"),r("state"),r("since")],t.map(i=>{let l=At(e,i);return[i.name,l.word,ae(s-Date.parse(l.since))]})),a(r("lanes.mail"),[r("time"),r("from"),r("to"),r("kind")],o.slice(-20).map(i=>[xe(i.at),Z(e,i.from),Z(e,i.to),i.kind])))}function Xa({board:e,events:t,rows:s,height:o,width:a,view:i,until:l,selected:c}){let{lanes:d,arrows:p,start:u,end:f}=uo(t),m=p.slice(-150),h=p.length>150?m[0].at:u,_=h>u||t[0]?.seq>1?ho(t,h):null,y=_?Ft:0,k=Math.max(l||0,f,h+1),g=po(t,h,k),$=a-y-Ts*2,T=O=>y+Ts+(g.place(O)-i.from)/(i.to-i.from)*$,x=new Map(s.map((O,v)=>[O.id,v*o])),w=O=>x.get(O)+o/2,P=O=>Math.min(Math.max(O,y),a),I=[],H=[],F=o>=40?18:14;s.forEach(O=>{let v=d.get(O.id);if(!v)return;let j=[v.open,...v.overs].filter(Boolean).map(A=>({...A,to:k,open:!0})),L={work:"",tool:"",waits:"",asks:"",deadline:"",cross:""};for(let A of[...v.bars,...j]){if(A.to<h)continue;let N=P(T(Math.max(A.from,h))),Oe=P(T(A.to));if(Oe<=y||N>=a)continue;let Ue=Math.max(Oe-N,1.5),it=pe+w(O.id)-F/2;L[A.kind]+=`M${N.toFixed(1)} ${it}h${Ue.toFixed(1)}v${F}h-${Ue.toFixed(1)}z`,A.until&&A.open&&A.until<=k&&(L.deadline+=`M${P(T(A.until)).toFixed(1)} ${it-3}v${F+6}`),H.push({left:N,right:N+Ue,row:O,bar:A})}let B=-9;for(let A of v.marks){let N=T(A);A<h||N<=y||N<B||(L.cross+=`M${(N-3).toFixed(1)} ${pe+w(O.id)-3}l6 6m0-6l-6 6`,B=N+7)}I.push(n("g",{class:`lane hue-${Mt(e,O.id)}`,key:O.id},Object.entries(L).map(([A,N])=>N&&[(A==="waits"||A==="asks")&&n("path",{class:"paper",d:N}),n("path",{class:A,d:N,fill:A==="waits"?"url(#hatch)":void 0})]),_?.rows.get(O.id)?.map((A,N)=>A&&n("rect",{class:"density",key:N,x:N*(Ft-8)/_.buckets,width:(Ft-8)/_.buckets-.5,y:pe+w(O.id)+F/2-Math.max(2,A/_.most*F),height:Math.max(2,A/_.most*F)}))))});let be=m.filter(O=>T(O.at)>=y&&T(O.at)<=a).map(O=>{let v=O.from==="user";if(!x.has(O.to)||!v&&!x.has(O.from))return null;let j=T(O.at),L=pe+w(O.to),B=v?L-o/2-2:pe+w(O.from),A=L>B?1:-1,N=L-A*(F/2),Oe=v?B:B+A*(F/2);return n("g",{class:`arrow ${v?"prompt":O.kind}${c&&c!==O.from&&c!==O.to?" dim":""}`,key:O.seq},n("path",{d:`M${j.toFixed(1)} ${Oe}V${N-A*5}`}),n("path",{class:"head",d:`M${(j-3.5).toFixed(1)} ${N-A*6}h7l-3.5 ${A*6}z`}))}),C=Ya(g,i,T,y,a),D=pe+s.length*o;return{svg:n("svg",{class:"lanes-svg",width:a,height:D,viewBox:`0 0 ${a} ${D}`,"aria-hidden":"true"},n("defs",null,n("pattern",{id:"hatch",width:"6",height:"6",patternUnits:"userSpaceOnUse",patternTransform:"rotate(45)"},n("path",{class:"hatch",d:"M0 0V6"}))),s.map((O,v)=>n("path",{class:"rule",key:O.id,d:`M0 ${pe+v*o+.5}H${a}`})),C.map(O=>n("g",{key:O.at},n("path",{class:"tick",d:`M${O.x.toFixed(1)} ${pe-4}V${D}`}),n("text",{x:O.x+4,y:"15"},O.word))),_&&[n("path",{class:"past",d:`M${Ft-4}.5 ${pe}V${D}`}),n("text",{x:"2",y:"15"},r("lanes.older"))],I,be),arrows:m,tell:(O,v)=>{let j=s[Math.floor(v/o)];if(!j||v<0)return"";let L=H.filter(Wt=>Wt.row===j&&O>=Wt.left-2&&O<=Wt.right+2),B=L[L.length-1],A=qe(new Date(g.moment(i.from+(O-y-Ts)/$*(i.to-i.from))).toISOString());if(!B)return`${S(j.name,40)} · ${A}`;let{kind:N,word:Oe,from:Ue,to:it}=B.bar,Mo=N==="waits"?r("state.waits",{name:S(Z(e,Oe),40)}):N==="work"?r("state.thinking"):`${N==="asks"?`${r("state.asks")} `:""}${S(Oe,40)}`;return`${S(j.name,40)} · ${Mo} · ${ae(it-Ue)} · ${A}`}}}function Ya(e,t,s,o,a){let i=e.moment(t.from),l=e.moment(t.to),c=Ga.find(p=>(l-i)/p<=8),d=[];if(!(l>i)||!c)return d;for(let p=Math.ceil(i/c)*c,u=o-1;p<=l;p+=c){let f=s(p);if(f<=u||f>a-60)continue;let m=new Date(p);d.push({at:p,x:f,word:l-i<3e5?`${xe(m)}:${String(m.getSeconds()).padStart(2,"0")}`:xe(m)}),u=f+84}return d}function bo({sessionStore:e,now:t,act:s,models:o,base:a,tick:i,words:l,facts:c}){let[d,p]=E(""),{replay:u}=e,f=he(()=>u?Ct(u.events):e.blocks,[u,e.blocks]),m=he(()=>u?{...e,live:new Map,first:0,offline:!0}:e,[u,e]);if(e.status!=="ready")return n(ue,{of:e,retry:()=>s.reopen()});let{board:h,events:_}=u||e,y=!u&&!e.offline&&h.agents.some(ie),k=y?t:Date.parse(h.updated)||0,g=h.agents.find(x=>x.id===d),$=h.agents[0]?.plan||[],T=n(ni,{head:e.board.seq,at:h.seq,ts:h.updated,live:!u,show:x=>e.show(x)});return h.agents.length?n("div",{class:"team"},n("section",{class:"team-main","aria-label":r("team.label")},n(Za,{board:h,act:s}),u&&n("p",{class:"box",role:"status"},r("replay.shown",{seq:h.seq})),n(go,{board:h,events:_,tick:i,now:k,until:y?Math.floor(t/5e3)*5e3:0,selected:d,select:x=>p(x===d?"":x)}),n("div",{class:"team-strip"},$.length>0&&n("section",{class:"strip-plan","aria-label":r("plan")},n("h2",null,r("plan")),n(ko,{steps:$})),n(ei,{board:h,base:a})),n($s,{sessionStore:m,board:h,facts:c,words:l,only:d,act:null,blocks:f}),T),g&&n(ti,{key:g.id,board:h,row:g,now:k,act:u?null:s,models:o,base:a,close:()=>p("")})):n("section",{class:"team-main","aria-label":r("team.label")},n(ne,{words:r("team.empty")}),T)}function Za({board:e,act:t}){let s=Mn(e);if(!s.length)return null;let o=s[s.length-1]==="user",a=o&&e.questions.find(i=>i.agent_id===s[s.length-2]);return n("div",{class:`why${o?" asks":""}`,role:"status"},n("span",{class:"strong"},r("why")),n("span",{class:"why-chain"},s.map((i,l)=>n("span",{class:"row",key:l},l>0&&[n("span",{class:"muted","aria-hidden":"true"},"→"),n("span",{class:"hidden"},r("why.on"))],i!=="user"&&n(ge,{board:e,id:i}),n(fe,{board:e,id:i,length:20}))),a&&n("span",{class:"code muted clip"},b(a.tool))),o&&t&&n(Ze,null))}function ei({board:{counts:e,files:t},base:s}){let o=[["mail",e.messages],["calls",e.calls],["failed",e.failed_calls],["files",t.length],["errors",e.errors],["denials",e.denials]];return n("ul",{class:"counts"},o.filter(([a,i])=>i||["mail","calls","files"].includes(a)).map(([a,i])=>n("li",{key:a,class:a==="errors"||a==="failed"?"error":""},n("a",{href:s&&`${s}/${a==="files"?"changes":"conversation"}`},n("span",{class:"num strong"},U(i))," ",r(`count.${a}`,{n:i})))))}var _o={input_tokens:"card.fresh",cache_read_tokens:"card.read",cache_write_tokens:"card.written",output_tokens:"card.output"};function ti({board:e,row:t,now:s,act:o,models:a=[],close:i,base:l}){let[c,d]=se(),{usage:p}=t,u=t.window?Math.round(t.context/t.window*100):0,f=e.questions.find(g=>g.agent_id===t.id),m=t.status==="ended",h=g=>[ve(g),{class:"num",title:U(g)}],_=Object.keys(_o).filter(g=>p[g]),y=[[r("card.role"),S(t.type,24),{title:b(t.type)}],[r("setup.model"),S(t.model,22),{title:b(t.model),class:"code"}],[r("by.turn"),t.turn?`${U(t.turn)} · ${r("conv.steps",{n:t.steps})}`:r("card.noTurn"),{class:"num"}],[r("card.window"),[n("progress",{max:"100",value:Math.min(100,u),"aria-label":r("card.window")})," ",U(u)," %"],{class:"num",title:r("card.used",{used:t.context,all:t.window})}],[r("card.tokens"),...h(_.reduce((g,$)=>g+p[$],0))],..._.map(g=>[n("span",{class:"part"},r(_o[g])),...h(p[g])]),[r("card.cost"),qt(t),{class:"num"}],t.unread.length>0&&[r("card.unread"),U(t.unread.length),{class:"num"}]],k=(g,$)=>$.length>0&&[n("h3",null,g),n("ul",{class:"plain"},$)];return n("aside",{class:"card","aria-label":b(t.name)},n("header",{class:"row"},n("h2",{class:"grow row"},n(Be,{board:e,id:t.id,length:19})),n(Ye,{act:i})),n("p",null,n(Pt,{board:e,row:t,now:s})),f&&n("p",{class:"box asks"},n("span",{class:"code clip"},S(f.text,160)),o&&n(Ze,null)),t.error&&n("p",{class:"box error"},n("strong",{class:"code"},b(t.error.kind))," ",S(t.error.message,240)),m&&t.reason&&n("p",{class:"muted"},S(t.reason,200)),n(_e,{rows:y}),k(r("card.waits"),t.waits.map(g=>n("li",{key:g.message_id,class:"row"},n(Be,{board:e,id:g.on}),n(tt,{since:g.since,now:s})))),k(r("card.calls"),t.calls.slice(0,6).map(g=>n("li",{key:g.id,class:"code clip",title:b(g.subject)},S(g.name,20)," ",n("span",{class:"muted"},S(g.subject,60))))),t.plan.length>0&&[n("h3",null,r("plan")),n(ko,{steps:t.plan})],o&&n("div",{class:"card-acts"},n("a",{class:"button",href:`${l}/conversation?agent=${t.id}`},r("nav.conversation")),n("a",{class:"button",href:`${l}/changes?agent=${encodeURIComponent(t.name)}`},r("nav.changes")),ie(t)&&n("button",{disabled:c||t.stopping,onClick:()=>d(()=>o.interrupt(t.id))},r("stop")),!m&&n(oe,{label:r("card.model"),hidden:!0,none:r("card.model"),of:a.map(g=>g.id),disabled:c,value:"",set:g=>g&&d(()=>o.changeModel(t.id,g))})))}var yo={completed:"✓",in_progress:"▸",pending:"○"},ko=({steps:e})=>n("ol",{class:"plan"},e.map((t,s)=>n("li",{key:s,class:`step ${Object.hasOwn(yo,t.status)?t.status:""}`},n(ee,{is:yo[t.status]||"·"}),n("span",null,n("span",{class:"hidden"},V("step",t.status),": "),b(t.text))))),si=120;function ni({head:e,at:t,ts:s,show:o,live:a}){let[i,l]=E(!1),[c,d]=E(null),p=G(t);p.current=t,R(()=>{if(!i)return;let _=setInterval(()=>{p.current>=e?l(!1):o(p.current+1)},si);return()=>clearInterval(_)},[i,e]),R(()=>d(null),[t]);let u=c??t,f=r("replay.at",{seq:u,head:e}),m=_=>{l(!1),d(Math.min(Math.max(_,1),e)),o(_)},h=()=>{!i&&t>=e&&o(1),l(!i)};return n("div",{class:"scrubber",role:"group","aria-label":r("replay.label")},n(Xe,{word:"replay.back",mark:"◀",disabled:t<=1,onClick:()=>m(t-1)}),n(Xe,{word:i?"replay.pause":"replay.play",mark:i?"❚❚":"▶",disabled:e<2,"aria-pressed":i,onClick:h}),n(Xe,{word:"replay.on",mark:"▶▏",disabled:t>=e,onClick:()=>m(t+1)}),n("input",{type:"range",min:"1",max:Math.max(1,e),value:u,"aria-label":r("replay.place"),"aria-valuetext":f,onInput:_=>m(Number(_.target.value))}),n("span",{class:"num scrub-at",title:f},U(u)," / ",U(e)," ",n("span",{class:"muted"},xe(s))),n("button",{class:a?"live on":"live","aria-pressed":a,onClick:()=>{l(!1),o(null)}},n(ee,{is:a?"●":"○"})," ",r("replay.live")))}var As={team:bo,conversation:to,changes:Hn},xo={sessions:Es,inbox:no,settings:io};function wo(e){let[t,s=""]=e.replace(/^#\/?/,"").split("?"),[o,a,i,l]=t.split("/").map(d=>decodeURIComponent(d)),c=Object.fromEntries(new URLSearchParams(s));return o==="s"&&/^[A-Za-z0-9_-]{1,64}$/.test(a||"")?{screen:"session",id:a,tab:Object.hasOwn(As,i)?i:"team",seq:/^\d{1,15}$/.test(l||"")?Number(l):null,params:c}:{screen:Object.hasOwn(xo,o)?o:"sessions",params:c}}var So=e=>{try{return e(localStorage)||""}catch{return""}},at=e=>So(t=>t.getItem(`planck.${e}`)),vo=(e,t)=>So(s=>s.setItem(`planck.${e}`,t));function $o(e){let t={status:"loading",items:[],next:null},s={access:"checking",route:{screen:"sessions",params:{}},sessionStore:null,now:Te.now(),toasts:[],help:!1,notices:[],me:null,inbox:{items:[],connection:"connecting",lostSince:0,ready:!1},sessions:t,models:t,teams:t,theme:at("theme")||"auto",language:at("language"),keys:at("keys")||"on",problem:null},o=new Ot(s,()=>Kt(n(qs,{state:s,act:a}),e)),a=new Ms(o);a.applyLook(),addEventListener("hashchange",()=>a.go()),addEventListener("keydown",i=>a.press(i)),setInterval(()=>{document.visibilityState==="visible"&&o.set({now:Te.now()})},1e3),o.touch(),a.enter()}var Eo=e=>({sessionStore:e,tick:e.lanes,words:e.words,facts:e.facts});function Co(e,{events:t,session:s={}}){let o=Je.of(t,s),a="team",i=l=>{a=l,o.touch()};return o.touch=()=>Kt(n("div",{class:"app"},n("header",{class:"topbar"},n("div",{class:"where"},n("h1",{class:"clip"},n("bdi",null,b(o.board.name||s.name||o.board.id)))),n("nav",{class:"tabs","aria-label":r("nav.session")},["team","conversation"].map(l=>n("button",{key:l,"aria-current":a===l?"page":void 0,onClick:()=>i(l)},r(`nav.${l}`))))),n("main",{class:"main"},n(As[a],{...Eo(o),now:Date.parse(o.board.updated),act:null}))),e),o.touch(),o}var qs=class extends re{componentDidCatch(t){this.setState({problem:t})}render({state:t,act:s}){let{sessionStore:o,route:a,inbox:i,now:l}=t;if(this.state.problem)return n("main",{class:"page"},n(ye,{problem:this.state.problem,retry:()=>location.reload()}));if(t.access!=="in")return n(ai,{state:t,act:s});let c=d=>{d.preventDefault(),document.getElementById("main").focus()};return n("div",{class:`app at-${a.screen}`},n("a",{class:"skip",href:"#main",onClick:c},r("skip")),n(Pn,{state:t,act:s}),n(jn,{sessionStore:o,inbox:i,now:l}),n("main",{class:"main",id:"main",tabindex:"-1"},n(oi,{state:t,act:s})),n(Ln,{items:t.toasts,dismiss:d=>s.dismiss(d)}),n("div",{class:"hidden","aria-live":"polite"},o?.finished?b(o.finished.slice(0,1e3)):""),t.help&&n(In,{close:()=>s.store.set({help:!1})}))}};function oi({state:e,act:t}){let{sessionStore:s,now:o,models:a,route:{screen:i,tab:l,seq:c,params:d}}=e;if(!s)return n(xo[i]||Es,{state:e,act:t});let p=l==="changes"?`${s.id}?${d.call||d.agent}`:s.id;return n(As[l],{key:p,...Eo(s),now:o,act:t,base:`#/s/${s.id}`,models:a.items,seq:c,agent:d.agent,params:d})}function ai({state:{access:e,problem:t},act:s}){return e==="checking"?n("main",{class:"door","aria-busy":"true"},n("span",{class:"hidden"},r("loading"))):n("main",{class:"door"},n("h1",null,r("door.title")),e==="problem"?n(ye,{problem:t,retry:()=>s.enter()}):[n("p",null,r("door.words")),n("p",null,n("code",null,"planck serve --open")),n("form",{class:"row",onSubmit:de(({code:o})=>s.redeem(o))},n("input",{name:"code",class:"grow",autocomplete:"off","aria-label":r("door.code"),placeholder:r("door.code"),required:!0,maxlength:"128"}),n("button",{class:"primary"},r("door.enter"))),t&&n("p",{class:"error"},r("door.bad"))])}var Ms=class{constructor(t){this.store=t,this.announced=new Set,this.asked={}}get state(){return this.store.state}async enter(){let t=/^#code=([A-Za-z0-9_-]+)(?:&to=(\/s\/[A-Za-z0-9_-]+\/team))?$/.exec(location.hash);t&&(history.replaceState(null,"",`${location.pathname}#${t[2]||"/sessions"}`),await z("/auth/code",{code:t[1]}).catch(()=>{}));try{let s=wo(location.hash);s.screen==="session"&&this.store.set({route:s,sessionStore:this.makeSessionStore(s.id)});let o=await J("/me");this.store.set({access:"in",me:o,problem:null,language:at("language")||o.locale}),this.applyLook(),this.followInbox(),this.load("models"),J("/notices").then(({items:a})=>this.store.set({notices:a}),()=>{}),this.go()}catch(s){this.store.set({access:"problem",problem:s}),this.checkOut(s)}}checkOut({status:t}){t===401&&this.store.set({access:"out",problem:null})}async redeem(t){try{await z("/auth/code",{code:t.trim()}),await this.enter()}catch(s){this.store.set({access:"out",problem:s})}}go(){if(this.state.access!=="in")return;let t=wo(location.hash),s=this.state.route,{sessionStore:o}=this.state;o?.id!==t.id&&(o?.close(),o=t.id?this.makeSessionStore(t.id):null),this.store.set({route:t,sessionStore:o}),this.setTitle(),(s.screen!==t.screen||s.tab!==t.tab)&&document.getElementById("main")?.scrollTo(0,0)}makeSessionStore(t){let s=new Je(t,()=>{this.state.sessionStore===s&&this.setTitle(),this.store.touch()});return s.onreset=()=>this.reopen(),s.open(),s}reopen(){let{sessionStore:t}=this.state;t.close(),this.store.set({sessionStore:this.makeSessionStore(t.id)})}async attempt(t){try{return await t(),null}catch(s){return this.checkOut(s),this.tell(s.kind||"internal_error",s.message||r("error.away"),"error"),s}}tell(t,s,o=""){let a=Jt();this.store.set({toasts:[...this.state.toasts.slice(-3),{id:a,title:t,words:s,kind:o}]}),setTimeout(()=>this.dismiss(a),o==="error"?12e3:6e3)}dismiss(t){this.store.set({toasts:this.state.toasts.filter(s=>s.id!==t)})}async load(t,s=`/${t}`,o=[]){let a={};this.asked[t]=a;let i=l=>{this.asked[t]===a&&this.store.set({[t]:{...this.state[t],...l}})};this.state[t].status==="error"&&i({status:"loading"});try{let{items:l,next:c}=await J(s);i({status:"ready",items:[...o,...l],next:c})}catch(l){i({status:"error",items:[],next:null,problem:l})}}loadPlace(){this.load("models"),this.load("teams")}loadSessions(t,s={},o=[]){return this.load("sessions",`/sessions${Ke({q:t.trim().slice(0,200),limit:50,...s})}`,o)}moreSessions(t){return this.loadSessions(t,{cursor:this.state.sessions.next},this.state.sessions.items)}changeRows(t){let{sessions:s}=this.state;this.store.set({sessions:{...s,items:s.items.flatMap(t)}})}replace(t){this.changeRows(s=>s.id===t.id?t:s)}start(t){let s=Object.fromEntries(Object.entries(t).filter(([,o])=>o!==""));return s.max_budget_usd&&(s.max_budget_usd=Number(s.max_budget_usd)),this.attempt(async()=>{location.hash=`#/s/${(await z("/sessions",s)).id}/team`})}rename(t,s){return this.attempt(async()=>this.replace(await bt(`/sessions/${t}`,{name:s})))}deleteSession(t){return this.attempt(async()=>{await Qt(`/sessions/${t}`),this.changeRows(s=>s.id===t?[]:s)})}fork(t,s){return this.attempt(async()=>{let o=await z(`/sessions/${t}/fork`,s?{at:s}:{});this.tell(o.name,r("fork.made")),location.hash=`#/s/${o.id}/conversation`})}get place(){return`/sessions/${this.state.sessionStore.id}`}prompt(t,s={}){let{sessionStore:o}=this.state;return this.attempt(async()=>{await z(`${this.place}/prompts`,{text:t,...s}),o.wake()})}goOnFrom(t,s){let{place:o,state:{sessionStore:a}}=this,i=()=>new Promise(l=>setTimeout(l,200));return this.attempt(async()=>{await z(`${o}/interrupt`);for(let l=50;l>0&&a.board.agents.some(ie);l-=1)await i();for(let l=10;;l-=1)try{await z(`${o}/rewind`,{to:Math.max(0,t-1)});break}catch(c){if(c.status!==400||l<=0)throw c;await i()}a.wake(),s&&await z(`${o}/prompts`,{text:s})})}interrupt(t){return this.attempt(()=>z(`${this.place}/interrupt`,{agent:t}))}changeMode(t){return this.attempt(()=>bt(this.place,{mode:t}))}changeModel(t,s){return this.attempt(()=>bt(`${this.place}/agents/${encodeURIComponent(t)}`,{model:s}))}followInbox(){this.inboxStream?.close();let t=s=>this.state.inbox.items.filter(o=>o.id!==s);this.settle=s=>this.changeInbox({items:t(s)}),this.inboxStream=new Re(()=>"/inbox/events",{live:()=>this.changeInbox({items:[],ready:!0}),question:s=>{this.changeInbox({items:[...t(s.id),s]}),this.announce(s)},settled:({id:s})=>this.settle(s),session:s=>this.replace(s),state:s=>{this.changeInbox({connection:s,lostSince:s==="lost"?this.state.inbox.lostSince||Te.now():0}),s==="lost"&&J("/me").catch(o=>this.checkOut(o))}})}changeInbox(t){this.store.set({inbox:{...this.state.inbox,...t}}),this.setTitle()}announce(t){if(this.announced.has(t.id)||(this.announced.add(t.id),document.visibilityState==="visible"||!this.notifies))return;let s=new Notification(r("inbox.asks",{agent:b(t.agent).slice(0,80)}),{body:b(t.text).slice(0,200),tag:t.id});s.onclick=()=>{focus(),location.hash="#/inbox"}}answer({id:t,digest:s},o,a){return this.attempt(async()=>{await z(`/approvals/${t}`,{digest:s,allow:o,...a}),this.settle(t)})}setTitle(){let{inbox:{items:t},sessionStore:s,route:o}=this.state,a=s?.board.name||(o.screen==="session"?"":r(`nav.${o.screen}`));document.title=`${t.length?`(${t.length}) `:""}${a?`${b(a).slice(0,80)} · `:""}Planck`}setLook(t){for(let[s,o]of Object.entries(t))vo(s,o);this.store.set(t),this.applyLook()}applyLook(){let{theme:t,language:s}=this.state,o=document.documentElement;o.dataset.theme=t,o.lang=hs(s),this.store.set({language:o.lang})}async setNotify(t){let s=t&&globalThis.Notification&&await Notification.requestPermission()==="granted";vo("notify",s?"on":"off"),this.store.touch()}get notifies(){return at("notify")==="on"&&globalThis.Notification?.permission==="granted"}async leave(){await this.attempt(()=>Qt("/auth")),this.inboxStream?.close(),this.state.sessionStore?.close(),this.store.set({access:"out",sessionStore:null,problem:null})}press(t){let{target:s,key:o}=t,{sessionStore:a,keys:i}=this.state,l=document.querySelector("dialog[open]");if(i==="off"||l||t.defaultPrevented||t.ctrlKey||t.metaKey||t.altKey||s.closest?.("input, textarea, select"))return;let c=a&&`#/s/${a.id}`,d={i:"#/inbox",s:"#/sessions",...a&&{t:`${c}/team`,c:`${c}/conversation`,d:`${c}/changes`}},p={"/":"find",m:"composer"};if(o==="?")this.store.set({help:!0});else if(Object.hasOwn(d,o))location.hash=d[o];else if(Object.hasOwn(p,o))document.getElementById(p[o])?.focus();else if(o==="X"&&a)this.interrupt("");else return;t.preventDefault()}};var qo=e=>JSON.parse(document.getElementById(e)?.textContent||"null"),Oo=qo("planck-events"),To=document.getElementById("app");Oo?Co(To,{events:Oo,session:qo("planck-session")}):$o(To);})();
